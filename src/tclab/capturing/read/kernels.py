"""The kernels of an output file as artifacts: their code, configuration and origins."""

from __future__ import annotations

import ast
import re
from typing import TypedDict

from tclab.capturing.read.output_code import Definition, OutputCode, dotted
from tclab.model import Graph, Kernel, Node, SourceLine, links, slug
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


def kernels_of(file: OutputCode, where: str = "") -> list[Kernel]:
    """The kernels in the order of the first call to each; `where` is added to titles."""
    placed = [_generated(file, definition, where) for definition in file.definitions]
    placed += [_extern(file, call, where) for call in file.externs()]
    return [kernel for _, kernel in sorted(placed, key=lambda pair: pair[0])]


class _Origin(TypedDict):
    origins: tuple[str, ...]
    source_lines: tuple[SourceLine, ...]


def _generated(file: OutputCode, definition: Definition, where: str) -> tuple[int, Kernel]:
    """The line of its first call, and the kernel."""
    calls, is_cpp = file.calls_of(definition.name), definition.is_cpp
    heuristic = _HEURISTIC.search(definition.code)
    facts = {} if is_cpp else _facts(definition.code) | _operators(file.comment(definition.line))
    kernel = Kernel(
        title=f"{'C++' if is_cpp else 'Triton'} kernel {definition.name}{where}",
        name=f"kernel-{slug(definition.name)}",
        code=scrub(definition.code.strip("\n")) + "\n",
        language="cpp" if is_cpp else "python",
        stage="cpp" if is_cpp else "kernel",
        kernel_name=definition.name,
        category=heuristic[1] if heuristic else "",
        device=definition.device,
        facts=facts | _call_facts(calls),
        **_origin(file.nodes(definition, calls)),
    )
    return calls[0].lineno if calls else definition.line, kernel


def _extern(file: OutputCode, call: ast.Call, where: str) -> tuple[int, Kernel]:
    name = dotted(call.func)
    nodes = file.nodes(None, [call])
    keys = links.joined(node.keys for node in nodes)
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in file.lines[call.lineno - 1 : last])
    kernel = Kernel(
        title=f"Library call {name}{where}",
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=_graph_device(file.graph),
        links=dict.fromkeys(range(1, text.count("\n") + 2), keys) if keys else {},
        **_origin(nodes),
    )
    return call.lineno, kernel


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


def _facts(code: str) -> dict[str, str]:
    facts = dict(_FACT.findall(code))
    if hint := _HINT.search(code):
        facts["reduction_hint"] = hint[1]
    if hints := _HINTS.search(code):
        facts["size_hints"] = hints[1]
    return facts


def _operators(comment: list[str]) -> dict[str, str]:
    """What Inductor writes above a Triton kernel of the operators it stands for."""
    written = _ATEN.search("\n".join(comment))
    return {"original_aten": written[1]} if written and written[1] else {}


def _call_facts(calls: list[ast.Call]) -> dict[str, str]:
    if not calls:
        return {}
    return {"calls": str(len(calls)), "call": scrub(ast.unparse(calls[0]))}
