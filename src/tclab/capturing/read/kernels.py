"""The kernels of an output file as artifacts: their code, configuration and origins."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TypedDict

from tclab.capturing.read.output_code import Definition, OutputCode, dotted
from tclab.model import Graph, Kernel, KernelFacts, Node, SourceLine, links, slug
from tclab.scrub import scrub

# @triton_heuristics.persistent_reduction(
_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
# 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1,
_FACT = re.compile(
    r"'?(num_warps|num_stages|kernel_num_gb|num_load|num_store|num_reduction|grid_type)'?\s*[:=]\s*"
    r"'?([\w.]+)'?"
)
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=ReductionHint\.(\w+)")
#     size_hints={'x': 64, 'r0_': 64},
_HINTS = re.compile(r"size_hints=(\{[^}]*\}|\[[^\]]*\])")
# # Topologically Sorted Source Nodes: [relu, sum_1], Original ATen: [aten.relu, aten.sum]
_ATEN = re.compile(r"Original ATen: \[(.*?)\]")


def kernels_of(file: OutputCode, direction: str = "") -> list[Kernel]:
    """The kernels in the order of the first call to each. `direction` is that of the graph."""
    placed = [_generated(file, definition, direction) for definition in file.definitions]
    placed += [_extern(file, call, direction) for call in file.externs()]
    return [kernel for _, kernel in sorted(placed, key=lambda pair: pair[0])]


class _Origin(TypedDict):
    origins: tuple[str, ...]
    source_lines: tuple[SourceLine, ...]


def _generated(file: OutputCode, definition: Definition, direction: str) -> tuple[int, Kernel]:
    """The line of its first call, and the kernel."""
    calls, is_cpp = file.calls_of(definition.name), definition.is_cpp
    heuristic = _HEURISTIC.search(definition.code)
    facts = KernelFacts(calls=len(calls), first_call=scrub(ast.unparse(calls[0])) if calls else "")
    if not is_cpp:
        aten = _operators(file.comment(definition.line))
        facts = replace(facts, written=_written(definition.code), original_aten=aten)
    kernel = Kernel(
        title=_title(f"{'C++' if is_cpp else 'Triton'} kernel {definition.name}", direction),
        name=f"kernel-{slug(definition.name)}",
        code=scrub(definition.code.strip("\n")) + "\n",
        language="cpp" if is_cpp else "python",
        stage="cpp" if is_cpp else "kernel",
        kernel_name=definition.name,
        category=heuristic[1] if heuristic else "",
        device=definition.device,
        facts=facts,
        direction=direction,
        **_origin(file.nodes(definition, calls)),
    )
    return calls[0].lineno if calls else definition.line, kernel


def _extern(file: OutputCode, call: ast.Call, direction: str) -> tuple[int, Kernel]:
    name = dotted(call.func)
    nodes = file.nodes(None, [call])
    keys = links.joined(node.keys for node in nodes)
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in file.lines[call.lineno - 1 : last])
    kernel = Kernel(
        title=_title(f"Library call {name}", direction),
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=_graph_device(file.graph),
        direction=direction,
        links=dict.fromkeys(range(1, text.count("\n") + 2), keys) if keys else {},
        **_origin(nodes),
    )
    return call.lineno, kernel


def _title(what: str, direction: str) -> str:
    return f"{what}, {direction}" if direction else what


def _origin(nodes: list[Node]) -> _Origin:
    """Where a kernel comes from: ATen operators and the user's lines."""
    lines = {n.source for n in nodes if n.source}
    return {
        "origins": tuple(dict.fromkeys(map(_operator, nodes))),
        "source_lines": tuple(sorted(lines, key=lambda s: (s.file, s.line))),
    }


def _operator(node: Node) -> str:
    """``aten.add`` for ``torch.ops.aten.add.Tensor``."""
    parts = node.target.removeprefix("torch.ops.").split(".")
    return ".".join(parts[:2])


def _graph_device(graph: Graph | None) -> str:
    """The one device type of a graph's values, or ''."""
    devices = {n.device.partition(":")[0] for n in graph.nodes if n.device} if graph else set()
    return devices.pop() if len(devices) == 1 else ""


def _written(code: str) -> dict[str, str]:
    """What a Triton kernel's source says of itself."""
    written = dict(_FACT.findall(code))
    if hint := _HINT.search(code):
        written["reduction_hint"] = hint[1]
    if hints := _HINTS.search(code):
        written["size_hints"] = hints[1]
    return written


def _operators(comment: list[str]) -> tuple[str, ...]:
    """The operators that Inductor writes above a Triton kernel that stands for them."""
    written = _ATEN.search("\n".join(comment))
    return tuple(written[1].split(", ")) if written and written[1] else ()
