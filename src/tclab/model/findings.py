"""Define findings. Each finding says something that a compile means for its reader, what this
costs, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import SourceLine
from tclab.model.codec import kind


@dataclass(frozen=True)
class FindingKind:
    """One kind of finding. `title` is the text that a reader sees first; `meaning` explains the
    kind in a sentence. Findings of a lower `rank` are listed first, whatever they cost. `part`
    names the part of a comparison that reports such findings. A compile has at most one finding of
    a kind that is `whole`.
    """

    name: str
    title: str
    rank: int
    meaning: str
    part: str = "findings"
    whole: bool = False

    @property
    def address(self) -> str:
        """The address of its documentation, relative to the site's root."""
        return f"reference/findings.html#{self.name}"


#: Ranks, worst first: a result is wrong; compiling gains nothing; each call costs more; one call
#: costs more.
WRONG, IDLE, EACH_CALL, ONCE = range(4)

#: The kind that only a run can find, because the compiled results must be compared with eager's.
RESULTS_DIFFER = "results-differ"

#: Name → kind. Findings of equal rank and unknown cost are listed in this order.
FINDING_KINDS: dict[str, FindingKind] = {
    each.name: each
    for each in (
        FindingKind(RESULTS_DIFFER, "results differ", WRONG,
                    "The compiled results are not eager's."),
        FindingKind("ranks-differ", "ranks differ", IDLE,
                    "Two processes of a job compiled other things: one waits for the other."),
        FindingKind("known-fault", "known fault of this PyTorch", WRONG,
                    "A fault of this PyTorch version affects the compiled code."),
        FindingKind("nothing-compiled", "nothing is compiled", IDLE,
                    "The call ran, and no graph came of it.", whole=True),
        FindingKind("recompile-limit", "recompile limit", IDLE,
                    "A function was compiled so often that Dynamo compiles it no more: calls "
                    "that no compiled code serves run in eager.",
                    part="recompiles"),
        FindingKind("compiles-every-call", "compiles at every call", IDLE,
                    "Each call after the first compiled the function again.", part="recompiles"),
        FindingKind("slower-than-eager", "slower than eager", IDLE,
                    "The compiled calls take longer than those of eager PyTorch, as measured.",
                    whole=True),
        FindingKind("float32-products", "float32 products without TF32", EACH_CALL,
                    "Matrix products of float32 values do not use the GPU's tensor cores.",
                    whole=True),
        FindingKind("upcast-products", "upcast before products", EACH_CALL,
                    "Values of 16 bits are converted to float32 before a matrix product.",
                    whole=True),
        FindingKind("launch-bound", "launch bound", EACH_CALL,
                    "Starting the kernels takes longer than the kernels do.", whole=True),
        FindingKind("no-cuda-graph", "no CUDA graph", EACH_CALL,
                    "CUDA graphs were asked for, and PyTorch did not record one.",
                    part="CUDA graphs"),
        FindingKind("cpu-tensors", "CPU tensors", EACH_CALL,
                    "Part of the code runs on the CPU, since its tensors are there.", whole=True),
        FindingKind("graph-break", "graph break", EACH_CALL,
                    "The graph ends at a line, which eager Python runs.", part="graph breaks"),
        FindingKind("skipped", "skipped", EACH_CALL,
                    "Dynamo leaves a whole function to eager Python.", part="graph breaks"),
        FindingKind("ranks-wait", "a rank waits", EACH_CALL,
                    "One process of a job waits in collectives for another one."),
        FindingKind("gpu-idle", "the GPU waits", EACH_CALL,
                    "The GPU ran no kernel for much of a profile: it waited for the host."),
        FindingKind("copies", "copies", EACH_CALL,
                    "A kernel only copies: to another layout, dtype or tensor."),
        FindingKind("spills", "spills", EACH_CALL,
                    "A kernel needs more registers than a thread has, and uses memory for them.",
                    part="kernels"),
        FindingKind("recompile", "recompile", ONCE,
                    "A function was compiled again, since a guard failed.", part="recompiles"),
        FindingKind("compile-time", "compile time", ONCE,
                    "A process of a job spent long on compiling."),
        FindingKind("unrolled-loop", "unrolled loop", ONCE,
                    "Dynamo puts each round of a Python loop into the graph, so that the compile "
                    "takes longer with each round."),
        FindingKind("caches-off", "caches off", ONCE,
                    "A setting turns PyTorch's caches off, so that each start compiles all again."),
        FindingKind("cache-miss", "cache miss", ONCE,
                    "A process compiled what another one had, since the key of a cache differs."),
        FindingKind("cache-bypass", "compiled at each start", ONCE,
                    "A cache does not take a graph, so that each start does again what it saves.",
                    whole=True),
        FindingKind("complex-numbers", "complex numbers", EACH_CALL,
                    "Operators on complex numbers are calls of their own: nothing fuses them.",
                    whole=True),
        FindingKind("saved-tensors", "saved for the backward", EACH_CALL,
                    "The forward keeps more bytes for the backward than its inputs have.",
                    whole=True),
        FindingKind("checkpointing", "checkpointing", EACH_CALL,
                    "A compiled backward holds several checkpointed regions at once.",
                    whole=True),
    )
}  # fmt: skip


@kind("cost")
@dataclass(frozen=True)
class Cost:
    """The cost of a finding: `amount` in `unit`, such as ``s a call`` or ``number read a call``.
    `known` says where the amount comes from: ``measured``, ``computed`` from shapes and the
    device's rates, or ``counted``; '' if the cost is not known.
    """

    kind: ClassVar[str]
    amount: float = 0.0
    unit: str = ""
    known: str = ""

    @property
    def seconds(self) -> float:
        """The cost in seconds, by which the findings of one rank are sorted; 0 if the unit is not a
        time.
        """
        return self.amount if self.unit.startswith("s ") else 0.0

    def __str__(self) -> str:
        """Write the cost as text: ``0.21 ms a call, computed``; ``cost not known``."""
        if not self.known:
            return "cost not known"
        noun, _, rest = self.unit.partition(" ")
        if noun == "s":
            return f"{format_seconds(self.amount)} {rest}, {self.known}"
        if noun == "byte" and self.amount >= _MIB:
            return f"{self.amount / _MIB:,.1f} MiB {rest}, {self.known}"
        plural = "s" if self.amount != 1 else ""
        return f"{self.amount:,.0f} {noun}{plural} {rest}, {self.known}"


_SHORTEST, _MIB = 1e-7, 2**20


def format_seconds(seconds: float) -> str:
    """Write seconds as a reader would: ``4 µs``, ``0.21 ms``, ``1.3 s``."""
    if seconds < _SHORTEST:
        return "under 0.1 µs"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.0995 or unit == "µs":
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    raise AssertionError


NOT_KNOWN = Cost()


@kind("finding")
@dataclass(frozen=True)
class Finding:
    """One thing that a compile shows and that its reader can act on.

    `name` is a key of FINDING_KINDS, `what` says what happened, and `places` are the reader's
    lines. `actions` are alternative things to do, the best one first. `section` is the section of
    the report with the details: ``breaks``, ``kernels``, …
    """

    kind: ClassVar[str]
    name: str
    what: str
    places: tuple[SourceLine, ...] = ()
    cost: Cost = NOT_KNOWN
    actions: tuple[str, ...] = ()
    section: str = ""

    @property
    def title(self) -> str:
        """The title of its kind."""
        return FINDING_KINDS[self.name].title


def rank_findings(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Sort findings by the rank of their kind, then by seconds, then by the order of
    FINDING_KINDS, and those of one kind by what was counted.
    """
    order = list(FINDING_KINDS)

    def place(finding: Finding) -> tuple[float, ...]:
        rank, cost = FINDING_KINDS[finding.name].rank, finding.cost
        return rank, -cost.seconds, order.index(finding.name), -cost.amount

    return tuple(sorted(findings, key=place))
