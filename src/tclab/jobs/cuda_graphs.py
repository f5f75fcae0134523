"""Find the graphs for which PyTorch records no CUDA graph because they write into an argument.

PyTorch decides this when the graph is first called, and writes no record. The trace has what it
decides by: Inductor's graph, and in the key of its cache the arguments whose address stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tclab.capturing.read.caching import INDUCTOR
from tclab.jobs.graphs import ReadGraph
from tclab.model import CacheLookup, Graph, Node, SourceLine
from tclab.text.user_lines import is_library_file

#: The parts of a cache's key that say whether CUDA graphs were asked for, and which arguments keep
#: their address.
_ASKED = "fx_kwargs[cudagraphs]"
STATIC = "fx_kwargs[static_input_idxs]"
_INDEX = re.compile(r"\d{1,9}")
_COPY = "copy_.default"


def infer_skips(
    graphs: Sequence[ReadGraph],
    lookups: Sequence[tuple[CacheLookup, Mapping[str, tuple[str, str]]]],
    callers: Mapping[str, SourceLine],
) -> Iterator[str]:
    """Yield a reason for each graph that asks for a CUDA graph and writes into an argument that is
    not static, in PyTorch's words and with the line that writes.
    """
    parts = {lookup.key: found for lookup, found in lookups if lookup.cache == INDUCTOR}
    for read in graphs:
        of_key, graph = parts.get(read.graph.key, {}), read.unit.output.graph
        static = of_key.get(STATIC, ("", ""))[1]
        asked = "True" in of_key.get(_ASKED, ("", ""))[1]
        if graph is None or not asked or not static.endswith("]"):
            continue
        written = list(_writes(graph, {int(index) for index in _INDEX.findall(static)}))
        if written:
            yield _describe(written, callers.get(read.graph.compile_id))


def _writes(graph: Graph, static: set[int]) -> Iterator[Node]:
    """Yield the nodes that write into an argument which is not static."""
    arguments = [node.name for node in graph.nodes if node.op == "placeholder"]
    others = {name for index, name in enumerate(arguments) if index not in static}
    for node in graph.nodes:
        if node.target.endswith(_COPY) and node.inputs and node.inputs[0] in others:
            yield node


def _describe(written: Sequence[Node], caller: SourceLine | None) -> str:
    reason = (
        f"mutated inputs ({len(written)} instances), by the graph and the key of Inductor's cache: "
        "PyTorch then records a CUDA graph only if another one makes these inputs"
    )
    line = next((node.source for node in written if node.source), None)
    if line is None:
        return reason
    if caller and is_library_file(line.file):
        reason += f"; the first write is {line.code} in {line}"
        line = caller
    place = f'File "{line.file}", line {line.line}, in {line.function}'
    return f"{reason}. Found from:\n {place}\n {line.code}"
