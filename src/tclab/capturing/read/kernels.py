"""Read the kernels in Inductor's output code: their code, configuration and origins."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TypedDict

from tclab.capturing.read.output_code import Definition, OutputCode, dotted_name
from tclab.capturing.read.work import Work
from tclab.model import Graph, Kernel, KernelFacts, Node, SourceLine, links, slug
from tclab.text.scrub import scrub

# @triton_heuristics.persistent_reduction(
_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
# 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1,
_SETTING = re.compile(
    r"'?(num_warps|num_stages|kernel_num_gb|num_load|num_store|num_reduction|grid_type)'?\s*[:=]\s*"
    r"'?([\w.]+)'?"
)
#     reduction_hint=ReductionHint.INNER,
_REDUCTION_HINT = re.compile(r"reduction_hint=ReductionHint\.(\w+)")
#     size_hints={'x': 64, 'r0_': 64},
_SIZE_HINTS = re.compile(r"size_hints=(\{[^}]*\}|\[[^\]]*\])")
#: Category of the Triton kernels that the user wrote; their operations are not known.
_USERS = "user_autotune"
# # Topologically Sorted Source Nodes: [relu, sum_1], Original ATen: [aten.relu, aten.sum]
_ATEN = re.compile(r"Original ATen: \[(.*?)\]")


def read_kernels(file: OutputCode, direction: str = "", work: Work | None = None) -> list[Kernel]:
    """Return the kernels in the order of their first calls. `direction` is forward, backward or
    inference. Without `work`, operations and bytes of library calls are not known.
    """
    by_line = [
        _generated_kernel(file, definition, direction, work) for definition in file.definitions
    ]
    by_line += [_library_call(file, call, direction, work) for call in file.library_calls()]
    return [kernel for _, kernel in sorted(by_line, key=lambda pair: pair[0])]


class _OriginFields(TypedDict):
    origins: tuple[str, ...]
    source_lines: tuple[SourceLine, ...]


def _generated_kernel(
    file: OutputCode, definition: Definition, direction: str, work: Work | None
) -> tuple[int, Kernel]:
    """Return (line of the kernel's first call, kernel)."""
    calls, is_cpp = file.calls_to(definition.name), definition.is_cpp
    heuristic = _HEURISTIC.search(definition.code)
    facts = KernelFacts(calls=len(calls), first_call=scrub(ast.unparse(calls[0])) if calls else "")
    if not is_cpp:
        aten = _operators_in_comment(file.comment_above(definition.line))
        facts = replace(facts, written=_settings_in_source(definition.code), original_aten=aten)
    nodes, category = file.computed_nodes(definition, calls), heuristic[1] if heuristic else ""
    if work is not None and category != _USERS:
        # an earlier product can be among the origins of a kernel; only a template computes one
        products = nodes if category == "template" else []
        operations, rate = work.operations.count(products)
        facts = replace(facts, operations=operations, rate=rate)
    kernel = Kernel(
        title=_make_title(f"{'C++' if is_cpp else 'Triton'} kernel {definition.name}", direction),
        name=f"kernel-{slug(definition.name)}",
        code=scrub(definition.code.strip("\n")) + "\n",
        language="cpp" if is_cpp else "python",
        stage="cpp" if is_cpp else "kernel",
        kernel_name=definition.name,
        category=category,
        device=definition.device,
        facts=facts,
        direction=direction,
        **_origin_fields(nodes),
    )
    return calls[0].lineno if calls else definition.line, kernel


def _library_call(
    file: OutputCode, call: ast.Call, direction: str, work: Work | None
) -> tuple[int, Kernel]:
    name = dotted_name(call.func)
    nodes = file.computed_nodes(None, [call])
    keys = links.merge_keys(node.keys for node in nodes)
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in file.lines[call.lineno - 1 : last])
    kernel = Kernel(
        title=_make_title(f"Library call {name}", direction),
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=_graph_device(file.graph),
        direction=direction,
        facts=work.describe_library_call(nodes) if work else KernelFacts(),
        links=dict.fromkeys(range(1, text.count("\n") + 2), keys) if keys else {},
        **_origin_fields(nodes),
    )
    return call.lineno, kernel


def _make_title(subject: str, direction: str) -> str:
    return f"{subject}, {direction}" if direction else subject


def _origin_fields(nodes: list[Node]) -> _OriginFields:
    """Return the ATen operators and the user's lines that a kernel comes from."""
    lines = {n.source for n in nodes if n.source}
    return {
        "origins": tuple(dict.fromkeys(map(_operator_name, nodes))),
        "source_lines": tuple(sorted(lines, key=lambda s: (s.file, s.line))),
    }


def _operator_name(node: Node) -> str:
    """Return ``aten.add`` for a node that calls ``torch.ops.aten.add.Tensor``."""
    parts = node.target.removeprefix("torch.ops.").split(".")
    return ".".join(parts[:2])


def _graph_device(graph: Graph | None) -> str:
    """Return the only device type of a graph's values; '' if there are several or none."""
    devices = {n.device.partition(":")[0] for n in graph.nodes if n.device} if graph else set()
    return devices.pop() if len(devices) == 1 else ""


def _settings_in_source(code: str) -> dict[str, str]:
    """Return the settings and counts that Inductor writes into the source of a Triton kernel, by
    name.
    """
    settings = dict(_SETTING.findall(code))
    if hint := _REDUCTION_HINT.search(code):
        settings["reduction_hint"] = hint[1]
    if hints := _SIZE_HINTS.search(code):
        settings["size_hints"] = hints[1]
    return settings


def _operators_in_comment(comment: list[str]) -> tuple[str, ...]:
    """Return the ATen operators named in Inductor's comment above a Triton kernel."""
    match = _ATEN.search("\n".join(comment))
    return tuple(match[1].split(", ")) if match and match[1] else ()
