"""A snapshot of a capture."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tclab.model import (
    Break,
    BreakIdentity,
    Graph,
    GraphCounts,
    Kernel,
    KernelIdentity,
    Recompile,
    RecompileIdentity,
    Snapshot,
    SourceLine,
)
from tclab.snapshot import cpp_body, planned, triton_body

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.capturing.read.units import CompiledKernel, Unit
    from tclab.model import Provenance

# 0/0: tensor 'x' size mismatch at index 0
_COMPILE = re.compile(r"^\d+/\d+: ")
# ___check_obj_id(L['f'], 94509030898416)
_ADDRESS = re.compile(r"\b(?:\d{9,}|0x[0-9a-f]{6,})\b")
# torch.ops.aten.add.Tensor
_OVERLOAD = re.compile(r"^torch\.ops\.|\.(?:default|Tensor|Scalar)$")
_STAGES = ("graphs", "forward", "backward", "post_grad")


def take(capture: Capture, here: Provenance, title: str = "", target: str = "") -> Snapshot:
    """What `capture` went through. `here` says which PyTorch it was. Registers, spills and shared
    memory are known of kernels that `Capture.compile_kernels` has compiled.
    """
    guards = [guard for each in capture.guards for guard in each]
    peaks = [planned.most_bytes(unit.output.text) for unit in capture.units]
    return Snapshot(
        title=title,
        target=target,
        torch=here.torch,
        triton=here.triton,
        breaks=tuple(map(_break, capture.breaks)),
        recompiles=tuple(map(_recompile, capture.recompiles.recompiles)),
        graphs=tuple(_counts(graph) for stage in _STAGES for graph in getattr(capture, stage)),
        kernels=tuple(_kernels(capture)),
        library_calls=dict(sorted(_library_calls(capture).items())),
        guards=len(guards),
        python_guards=sum(each.tree.count("LAMBDA_GUARD") for each in capture.guards),
        skipped_graphs=capture.cuda_graph_skips,
        planned_bytes=None if None in peaks else max(filter(None, peaks), default=0),
    )


def _break(each: Break) -> BreakIdentity:
    where = each.location
    what = each.gb_id or each.gb_type or each.reason.split("\n")[0]
    place = (where.function, where.code.strip()) if where else ("", "")
    return BreakIdentity(what, _file(where), *place, skipped=each.skipped)


def _file(where: SourceLine | None) -> str:
    """The name without its folder, which may be another tomorrow."""
    return where.file.rpartition("/")[2] if where else ""


def _recompile(each: Recompile) -> RecompileIdentity:
    guards = (_ADDRESS.sub("…", _COMPILE.sub("", reason)) for reason in each.reasons)
    return RecompileIdentity(each.function, _file(each.location), tuple(guards))


def _counts(graph: Graph) -> GraphCounts:
    calls = (node.target for node in graph.nodes if node.op.startswith("call_"))
    return GraphCounts(graph.stage, dict(sorted(Counter(map(_operator, calls)).items())))


def _operator(target: str) -> str:
    return _OVERLOAD.sub("", _OVERLOAD.sub("", target))


def _library_calls(capture: Capture) -> Counter[str]:
    return Counter(each.kernel_name for each in capture.kernels if each.category == "extern")


def _kernels(capture: Capture) -> Iterator[KernelIdentity]:
    for unit in capture.units:
        for kernel in unit.kernels:
            if kernel.category != "extern":
                yield _kernel(kernel, unit)


def _kernel(kernel: Kernel, unit: Unit) -> KernelIdentity:
    facts, compiled = kernel.facts, unit.compiled.get(kernel.kernel_name)
    written = facts.written
    triton = kernel.language == "python"
    return KernelIdentity(
        operators=tuple(sorted(facts.original_aten)),
        category=kernel.category,
        direction=kernel.direction,
        language=kernel.language,
        text=hashlib.sha256(kernel.code.encode()).hexdigest(),
        **(_triton(kernel.code) if triton else {"body": cpp_body.body(kernel.code)}),
        configuration=str(compiled.configuration.config) if compiled else "",
        loads=_number(written, "num_load"),
        stores=_number(written, "num_store"),
        calls=facts.calls,
        bytes=sum(facts.moved) if facts.moved else None,
        **_resources(compiled),
    )


def _triton(source: str) -> dict[str, Any]:
    """Of a source that is no plain Triton, the source itself."""
    try:
        body, launch = triton_body.read(source)
    except (SyntaxError, ValueError):
        return {"body": source}
    return {"body": body, "launch": launch}


def _number(written: Mapping[str, str], name: str) -> int:
    text = written.get(name, "")
    return int(text) if text.isdigit() else 0


def _resources(compiled: CompiledKernel | None) -> dict[str, Any]:
    if compiled is None or compiled.resources is None:
        return {}
    taken = compiled.resources
    return {"registers": taken.registers, "spilled": taken.spilled, "shared": taken.shared}
