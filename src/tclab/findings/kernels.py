"""Define rules on what a call costs: launches, products, copies, spills, memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclab.findings.evidence import Evidence
from tclab.model import (
    GRAPHS,
    SLOWER,
    Checkpoints,
    Cost,
    Finding,
    KernelRow,
    Measurement,
    format_seconds,
)

#: A call is launch-bound if its launches take at least this multiple of the device's time, and
#: there are at least this number of launches.
_LAUNCH_RATIO, _FEWEST_LAUNCHES = 2.0, 5
#: The least share of a call's time that TF32 must save for a finding.
_TF32_SHARE = 0.05
#: The least share of a call's bytes that a copy must move for a finding; of a call's time, if it is
#: known.
_COPY_SHARE = 0.05
#: A compiled backward that holds this many times eager's bytes is a finding.
_MORE_MEMORY = 1.25
#: A forward that saves fewer bytes than this for its backward fits on every GPU.
_LEAST_SAVED = 64 * 2**20
#: A finding names the values that have at least this share of the saved bytes.
_SHARE_OF_SAVED = 0.05
#: The modes of torch.compile that record CUDA graphs.
CUDA_GRAPH_MODES = ("reduce-overhead", "max-autotune")
_COPIES = frozenset({"clone", "copy", "_to_copy", "constant_pad_nd", "contiguous"})
#: Operators that move no data; a kernel that copies to another layout can contain them.
_VIEWS = frozenset({
    *("permute", "view", "reshape", "t", "transpose", "expand", "unsqueeze", "squeeze", "slice"),
    "select",
})  # fmt: skip
_MOST_PLACES = 3

_USE_TF32 = (
    "torch.set_float32_matmul_precision('high'): TF32 keeps 10 bits of each factor's fraction; not "
    "where the results need float32's 23. (Not tried.)"
)
_MULTIPLY_NARROW = (
    "Multiply as {dtype}: tensor cores add in float32. x @ w rounds the result to {dtype}; "
    "torch.mm(x, w, out_dtype=torch.float32) does not. (Not tried.)"
)
_LEAVE_OUT = (
    "Leave it uncompiled, or compile the larger part that calls it; not where the calls of the "
    "program are larger than these. (Not tried.)"
)
_KEEP_LAYOUT = (
    "Keep one layout and dtype: leave out what is copied, or make the values in the form that the "
    "next operator takes. (Not tried.)"
)
_LESS_MEMORY = (
    "torch._functorch.config.activation_memory_budget = 0.5 keeps less and computes the rest "
    "again; not where memory suffices. (Not tried.)"
)
COMPILE_BLOCKS = (
    "Compile the blocks one by one, with block.forward = torch.compile(block.forward), in place of "
    "the whole."
)


def _use_cuda_graphs(remark: str) -> str:
    return (
        'mode="reduce-overhead": a CUDA graph starts all kernels at once; not where shapes change '
        f"from call to call. ({remark}.)"
    )


def find_float32_products(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if products of float32 values would be faster with TF32."""
    cost = evidence.cost
    if cost is None or cost.tf32 is None:
        return
    saved = cost.products - cost.tf32
    if saved > _TF32_SHARE * cost.seconds:
        rows = [row for row in _select_first_call(evidence) if row.rate == "f32"]
        rows.sort(key=lambda row: -(row.least or 0))
        lines = dict.fromkeys(line for row in rows for line in row.lines)
        yield Finding(
            "float32-products",
            f"products of float32 values take {format_seconds(cost.products)} a call at least, and "
            f"{format_seconds(cost.tf32)} with TF32",
            tuple(lines)[:_MOST_PLACES],
            Cost(saved, "s a call", "computed"),
            (_USE_TF32,),
            "kernels",
        )


def find_upcast_products(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if values of 16 bits are converted to float32 for products that would be
    faster without.
    """
    cost = evidence.cost
    if cost is None or cost.narrow is None:
        return
    saved = cost.products - cost.narrow
    rows = [row for row in _select_first_call(evidence) if row.upcast]
    if rows and saved > _TF32_SHARE * cost.seconds:
        dtype = {"bf16": "bfloat16", "f16": "float16"}[rows[0].upcast]
        lines = dict.fromkeys(line for row in rows for line in row.lines)
        yield Finding(
            "upcast-products",
            f"values of {dtype} are converted to float32 for products: a call's products take "
            f"{format_seconds(cost.products)} at least, and {format_seconds(cost.narrow)} with "
            f"these as {dtype}",
            tuple(lines)[:_MOST_PLACES],
            Cost(saved, "s a call", "computed"),
            (_MULTIPLY_NARROW.format(dtype=dtype),),
            "kernels",
        )


def find_launch_bound(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the GPU waits for the host to launch the kernels, as measured or else as
    computed, and no CUDA graphs are used.
    """
    if evidence.mode in CUDA_GRAPH_MODES:
        return
    if evidence.measurement is not None and evidence.measurement.busy_share is not None:
        yield from _find_measured_waits(evidence.measurement)
        return
    cost = evidence.cost
    if cost is None or cost.bound != "launches":
        return
    count, device = cost.kernels + cost.library_calls, cost.memory + cost.products
    if count >= _FEWEST_LAUNCHES and cost.launches >= _LAUNCH_RATIO * device:
        yield Finding(
            "launch-bound",
            f"{'at least ' * bool(cost.refused)}{count} launches take "
            f"{format_seconds(cost.launches)} of the host, the kernels "
            f"{format_seconds(device)} of the GPU at least",
            cost=Cost(cost.launches - device, "s a call", "computed"),
            actions=(_use_cuda_graphs("Not tried"),),
            section="kernels",
        )


def _find_measured_waits(found: Measurement) -> Iterator[Finding]:
    """Yield a finding if the GPU waits for the host, unless CUDA graphs were measured and do not
    help.
    """
    default = found.compiled[0]
    graphs = next((mode for mode in found.compiled if mode.mode == GRAPHS), None)
    if not found.waits_for_host or (graphs and graphs.median >= default.median):
        return
    how = f"Measured: {default.median / graphs.median:.1f} times as fast" if graphs else "Not tried"
    busy = (found.busy_share or 0.0) * default.median
    saved = default.median - (graphs.median if graphs else busy)
    yield Finding(
        "launch-bound",
        f"a call takes {format_seconds(default.median)}, and the GPU works {format_seconds(busy)} "
        "of them",
        cost=Cost(saved, "s a call", "measured"),
        actions=(_use_cuda_graphs(how),),
        section="kernels",
    )


def find_slower_than_eager(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if compiled calls were measured, and every mode is clearly slower than
    eager's calls.
    """
    found = evidence.measurement
    if found is None or found.eager is None or not found.compiled:
        return
    if any(found.verdict(mode) != SLOWER for mode in found.compiled):
        return
    best = min(found.compiled, key=lambda mode: mode.median)
    yield Finding(
        "slower-than-eager",
        f"the calls take {format_seconds(best.median)} compiled ({best.mode}), and "
        f"{format_seconds(found.eager.median)} in eager",
        cost=Cost(best.median - found.eager.median, "s a call", "measured"),
        actions=(_LEAVE_OUT,),
    )


def find_cpu_tensors(evidence: Evidence) -> Iterator[Finding]:
    """Yield one finding on all operators that run on the CPU although a GPU is used."""
    places = list(dict.fromkeys(evidence.on_host))
    if places:
        more = f" and {len(places) - _MOST_PLACES} more lines" if len(places) > _MOST_PLACES else ""
        yield Finding(
            "cpu-tensors",
            "the GPU leaves to the CPU what is computed from tensors of the CPU: "
            f"{'; '.join(places[:_MOST_PLACES])}{more}. C++ kernels depend on the host's "
            "processor, and are shown for this one",
            actions=("Make the tensors on the GPU if they are not meant to be on the CPU.",),
        )


def find_copies(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each kernel that only copies, if it moves much of a call's bytes."""
    rows = _select_first_call(evidence)
    total = sum(row.call_bytes or 0 for row in rows)
    for row in rows:
        moved = row.call_bytes
        if moved and _only_copies(row) and moved >= _COPY_SHARE * total:
            cost = Cost(moved, "byte a call", "counted")
            if row.least is not None:
                cost = Cost(row.least, "s a call", "computed")
            if evidence.cost and cost.seconds < _COPY_SHARE * evidence.cost.seconds:
                continue
            yield Finding(
                "copies",
                f"{row.name} only copies ({', '.join(row.origins)})",
                row.lines[:_MOST_PLACES],
                cost,
                (_KEEP_LAYOUT,),
                "kernels",
            )  # fmt: skip


def _select_first_call(evidence: Evidence) -> list[KernelRow]:
    """Return the rows that the first call runs. A graph that was compiled again has the same
    kernels once more.
    """
    return [row for row in evidence.kernels if row.runs and not row.is_alternative]


def _only_copies(row: KernelRow) -> bool:
    """Return whether each operator of a kernel is a copy, such as ``aten.clone``, or a view."""
    names = {origin.partition(".")[2] for origin in row.origins}
    return bool(names & _COPIES) and names <= _COPIES | _VIEWS


def find_spills(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each kernel whose threads keep registers in memory."""
    for row in _select_first_call(evidence):
        if row.spilled:
            yield Finding(
                "spills",
                f"{row.name} keeps {row.spilled:,} bytes of registers of each thread in memory",
                row.lines[:_MOST_PLACES],
                section="kernels",
                actions=('mode="max-autotune" times smaller blocks and more warps. (Not tried.)',),
            )


def find_saved_tensors(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the values saved for a backward take more memory than inputs and
    weights.
    """
    worst = max(evidence.partitions, key=lambda each: each.bytes_of("saved"), default=None)
    if worst is None:
        return
    saved, inputs = worst.bytes_of("saved"), worst.bytes_of("input")
    if saved < max(_LEAST_SAVED, inputs):
        return
    values = {each.storage: each for each in worst.values if each.fate == "saved"}
    largest = sorted(values.values(), key=lambda each: -each.bytes)[:_MOST_PLACES]
    largest = [each for each in largest if each.bytes >= _SHARE_OF_SAVED * saved]
    names = ", ".join(f"{each.name} {each.bytes / 2**20:.1f} MiB" for each in largest)
    yield Finding(
        "saved-tensors",
        f"{saved / 2**20:.1f} MiB are kept for the backward, and inputs and weights have "
        f"{inputs / 2**20:.1f} MiB; the largest: {names}",
        tuple(dict.fromkeys(each.location for each in largest if each.location)),
        Cost(saved, "byte of memory", "computed"),
        (_LESS_MEMORY,),
    )


def find_checkpoints(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if a compiled backward holds more checkpointed regions than eager does."""
    worst = worst_checkpoints(evidence.checkpoints)
    if worst is None:
        return
    fix = evidence.checkpoint_fix
    yield Finding(
        "checkpointing",
        "the compiled backward recomputes regions before it has used the ones before up. It holds "
        f"{worst.held} of {worst.regions} at once, {worst.bytes / 2**20:.1f} MiB, and eager one, "
        f"{worst.one / 2**20:.1f} MiB",
        cost=Cost(worst.bytes - worst.one, "byte of memory", "computed"),
        actions=(fix,) if fix else (),
    )  # fmt: skip


def worst_checkpoints(graphs: Iterable[Checkpoints]) -> Checkpoints | None:
    """Return the backward graph that holds the most bytes for checkpointed regions, if it holds
    more than eager; else None.
    """
    worst = max(graphs, key=lambda each: each.bytes, default=None)
    if worst is None or worst.held < 2 or worst.bytes < _MORE_MEMORY * worst.one:
        return None
    return worst


RULES = (
    find_float32_products,
    find_upcast_products,
    find_launch_bound,
    find_slower_than_eager,
    find_cpu_tensors,
    find_copies,
    find_spills,
    find_saved_tensors,
    find_checkpoints,
)
