"""Compute the least cost of one call on a GPU, from its kernels' work and the GPU's rates.

A kernel takes at least its bytes divided by the bandwidth of the memory that they come from, and
its operations divided by the rate of their format. Data that fits in L2 may come from L2, so
only the bytes beyond the size of L2 are divided by the bandwidth of the device's memory. This holds
for a kernel's bytes, and for the bytes that enter and leave a graph. The host launches kernels at
the same time; the cost of a launch was measured (`measured_costs.json`, which
``benchmarks/floors.py`` writes).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

from tclab.model import CallCost, Chain, Kernel, KernelRow
from tclab.targets import Target

_MEASURED_FILE = files(__package__) / "measured_costs.json"
#: A call is bound by launches if they take at least this many times as long as the GPU's work. Such
#: a call gains at least a quarter by CUDA graphs.
_LAUNCHES_BOUND = 1.25
_CLOSE = 1.5  # if two parts differ by less than this factor, either of them may take longer


@dataclass(frozen=True)
class MeasuredCosts:
    """The seconds that were measured on the host: for entering a compiled graph, for entering a
    graph and, later, its backward, for one launch of a generated kernel, and for one library call.
    `attained` maps a kind of work (`work_kind`) to the median of the least seconds divided by the
    measured seconds of a call; for ``launches`` these are seconds of the host. The other fields say
    where and when this was measured.
    """

    graph: float
    training: float
    kernel: float
    library_call: float
    attained: Mapping[str, float]
    device: str
    cpu: str
    torch: str
    date: str


@cache
def measured_costs() -> MeasuredCosts:
    """Read the measured costs."""
    return MeasuredCosts(**json.loads(_MEASURED_FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Floor:
    """The least seconds that the launches of one row take on a device, and their bound: ``memory``
    or ``products``.
    """

    seconds: float
    bound: str


def floor(row: KernelRow, target: Target) -> Floor | None:
    """Return the floor of a row's launches in one run of its graph; None if its bytes or operations
    are not known.
    """
    memory, products = _memory_seconds(row, target), _product_seconds(row, target)
    if memory is None or products is None:
        return None
    return Floor(products, "products") if products > memory else Floor(memory, "memory")


def add_floors(rows: Sequence[KernelRow], target: Target) -> tuple[KernelRow, ...]:
    """Return the rows with the least seconds that each takes in the first call."""
    floors = [floor(row, target) for row in rows]
    return tuple(
        row if found is None else replace(row, least=row.runs * found.seconds)
        for row, found in zip(rows, floors)
    )


def _memory_seconds(row: KernelRow, target: Target) -> float | None:
    if row.bytes is None or row.language == "cpp":
        return None
    each = row.bytes / row.times
    beyond_l2 = max(0.0, each - target.l2_bytes) / target.clocks.bytes_per_second
    return row.times * max(each / target.l2_bytes_per_second, beyond_l2)


def _product_seconds(row: KernelRow, target: Target) -> float | None:
    if not row.operations:
        return None if row.operations is None else 0.0
    rate = target.operations_per_second(row.rate)
    return None if rate is None else row.operations / rate


def work_kind(row: KernelRow) -> str:
    """Return the kind of a row's work: ``generated`` for a generated kernel; ``products``,
    ``convolutions`` or ``other`` for a library call.
    """
    if row.category != "extern":
        return "generated"
    if "conv" in row.name:
        return "convolutions"
    return "products" if row.operations else "other"


# --------------------------------------------------------------------------- a call


def call_cost(
    chains: Sequence[Chain],
    rows: Sequence[KernelRow],
    target: Target | None,
    *,
    cuda_graphs: bool = False,
    refused: int = 0,
) -> CallCost | None:
    """Return the least cost of the first call; None if no kernel runs on a GPU with known rates.
    With `cuda_graphs`, replaying a graph launches all of its kernels at once. `refused` parts of
    the call have no rows.
    """
    if target is None or not any(_runs_on_gpu(chain) for chain in chains):
        return None
    call = FirstCall.select(chains, rows, target)
    launches, work = call.launch_seconds(cuda_graphs=cuda_graphs), call.least_work()
    bound, second = likely_bounds(launches, work)
    memory, products = (
        sum(seconds for (_, of), seconds in work.items() if of == bound)
        for bound in ("memory", "products")
    )
    return CallCost(
        device=target.device,
        kernels=call.count_launches(library=False),
        library_calls=call.count_launches(library=True),
        launches=launches,
        memory=memory,
        products=products,
        bound=bound,
        second_bound=second,
        tf32=call.tf32_seconds(),
        narrow=call.narrow_seconds(),
        unknown=len(call.rows) - len(call.floors),
        refused=refused,
    )


def likely_bounds(launches: float, work: Mapping[tuple[str, str], float]) -> tuple[str, str]:
    """Return the key of BOUNDS for the part that is likely to take longest, and the key of another
    part that may take longest, or ''. `work` maps (kind of work, bound) to the least seconds, at
    the device's full rate. Work of a kind attains only a share of this rate, which was measured, so
    the expected seconds are the least seconds divided by the share. Launches overlap with the GPU's
    work.
    """
    attained, seconds = measured_costs().attained, {"memory": 0.0, "products": 0.0}
    for (kind, bound), least in work.items():
        seconds[bound] += least / attained[kind]
    device, host = sum(seconds.values()), launches / attained["launches"] / _LAUNCHES_BOUND
    less, more = sorted(seconds, key=seconds.__getitem__)
    if host >= device:
        return "launches", more if host < _CLOSE * device else ""
    behind = {less: seconds[more] / seconds[less]} if seconds[less] else {}
    behind["launches"] = device / host
    second = min(behind, key=behind.__getitem__)
    return more, second if behind[second] < _CLOSE else ""


def _runs_on_gpu(chain: Chain) -> bool:
    return any(isinstance(pane, Kernel) and pane.device == "cuda" for pane in chain.panes)


@dataclass(frozen=True)
class FirstCall:
    """The graphs of a report, and the rows of the kernels that the first call runs."""

    chains: Sequence[Chain]
    rows: Sequence[KernelRow]
    target: Target

    @classmethod
    def select(
        cls, chains: Sequence[Chain], rows: Sequence[KernelRow], target: Target
    ) -> FirstCall:
        """Return the first call among all rows of a report."""
        return cls(chains, [r for r in rows if r.runs and not r.is_alternative], target)

    @cached_property
    def floors(self) -> Sequence[tuple[KernelRow, Floor]]:
        """The rows whose bytes and operations are known, each with its floor."""
        floors = ((row, floor(row, self.target)) for row in self.rows)
        return [(row, found) for row, found in floors if found is not None]

    def count_launches(self, *, library: bool) -> int:
        """Return the number of library calls, or of the GPU's launches of generated kernels. A C++
        kernel for tensors of the CPU is not launched on the GPU.
        """
        return sum(
            row.runs * row.times
            for row in self.rows
            if (row.category == "extern") == library and row.language != "cpp"
        )

    def launch_seconds(self, *, cuda_graphs: bool) -> float:
        """Return the host's seconds for entering the graphs and launching their kernels."""
        costs, seconds = measured_costs(), 0.0
        for number, chain in enumerate(self.chains):
            directions = {row.direction for row in self.rows if row.graph == number}
            training = "backward" in directions
            seconds += chain.runs * (costs.training if training else costs.graph)
        if cuda_graphs:
            return seconds
        kernels, calls = self.count_launches(library=False), self.count_launches(library=True)
        return seconds + kernels * costs.kernel + calls * costs.library_call

    def least_work(self) -> Mapping[tuple[str, str], float]:
        """Return the GPU's least seconds by kind of work (`work_kind`) and bound. They are at least
        the seconds to move the graphs' inputs and outputs, apart from what fits into L2. If the
        rows' floors sum to less, the rest is added to the memory work of generated kernels.
        """
        seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        for row, found in self.floors:
            seconds[work_kind(row), found.bound] += row.runs * found.seconds
        missing = self._boundary_seconds() - sum(seconds.values())
        seconds["generated", "memory"] += max(0.0, missing)
        return seconds

    def tf32_seconds(self) -> float | None:
        """Return the seconds of the products if float32 products use TF32; None if no product gets
        faster.
        """
        return self._product_seconds_at("tf32", lambda row: row.rate == "f32")

    def narrow_seconds(self) -> float | None:
        """Return the seconds of the products if operands that were converted to float32 stayed in
        their dtype of fewer bits; None if there are no such operands.
        """
        return self._product_seconds_at("f16", lambda row: bool(row.upcast))

    def _product_seconds_at(
        self, rate: str, is_changed: Callable[[KernelRow], bool]
    ) -> float | None:
        """Return the seconds of the rows that are bound by products, if those for which
        `is_changed` is true used operands of the format `rate`. Return None if it is true for none
        of them, or if the device has no such rate.
        """
        bound = [row for row, found in self.floors if found.bound == "products"]
        if not any(map(is_changed, bound)) or self.target.operations_per_second(rate) is None:
            return None
        rows = [replace(row, rate=rate) if is_changed(row) else row for row in bound]
        floors = [(row, floor(row, self.target)) for row in rows]
        return sum(row.runs * found.seconds for row, found in floors if found is not None)

    def _boundary_seconds(self) -> float:
        beyond_l2 = (
            chain.runs * max(0, (chain.boundary or 0) - self.target.l2_bytes)
            for chain in self.chains
        )
        return sum(beyond_l2) / self.target.clocks.bytes_per_second
