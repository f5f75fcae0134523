"""Join the profiled runs of compiled graphs to the kernels of a report's chains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tclab.model import Chain, GraphRun, KernelKey, kernels_of_chain

#: Functions of Inductor that call an operator with another name.
_OPERATOR_OF = {"bias_addmm": "addmm", "_mm_plus_mm": "mm"}


@dataclass(frozen=True)
class _Direction:
    """The kernels of one graph's forward or backward: the profiler's name for each, with the key
    of its row.
    """

    kernels: tuple[tuple[str, KernelKey], ...]

    @property
    def names(self) -> set[str]:
        """The profiler's names of the kernels."""
        return {name for name, _ in self.kernels}

    def read(self, run: GraphRun) -> Iterator[tuple[KernelKey, float]]:
        """Yield the seconds of each launch. The n-th run of an operator is its n-th call in the
        output code; all launches of a generated kernel are of one row.
        """
        keys: dict[str, list[KernelKey]] = defaultdict(list)
        for name, key in self.kernels:
            keys[name].append(key)
        seen: Counter[str] = Counter()
        for name, seconds in run.launches:
            if name in keys:
                yield keys[name][min(seen[name], len(keys[name]) - 1)], seconds
                seen[name] += 1


def seconds_per_launch(
    chains: Sequence[Chain], runs: Sequence[GraphRun]
) -> Mapping[KernelKey, float]:
    """Return the mean seconds of a launch of each kernel that was profiled. A run belongs to the
    graph whose kernels it launched. If several graphs fit, they take turns.
    """
    directions = [each for number, chain in enumerate(chains) for each in _split(number, chain)]
    seconds: dict[KernelKey, list[float]] = defaultdict(list)
    turns: Counter[tuple[_Direction, ...]] = Counter()
    for run in runs:
        fitting = _find_fitting(directions, run)
        if fitting:
            own = fitting[turns[fitting] % len(fitting)]
            turns[fitting] += 1
            for key, each in own.read(run):
                seconds[key].append(each)
    return {key: sum(each) / len(each) for key, each in seconds.items()}


def _find_fitting(directions: Sequence[_Direction], run: GraphRun) -> tuple[_Direction, ...]:
    """Return the graphs all of whose kernels a run launched: those with the most kernels."""
    launched = {name for name, _ in run.launches}
    fitting = [each for each in directions if each.names <= launched]
    most = max((len(each.kernels) for each in fitting), default=0)
    return tuple(each for each in fitting if len(each.kernels) == most)


def _split(number: int, chain: Chain) -> Iterator[_Direction]:
    by_direction: dict[str, list[tuple[str, KernelKey]]] = defaultdict(list)
    for key, kernel in kernels_of_chain(number, chain):
        name = kernel.kernel_name
        if kernel.category == "extern":
            name = _profiled_name(name)
        by_direction[kernel.direction].append((name, key))
    yield from (_Direction(tuple(kernels)) for kernels in by_direction.values())


def _profiled_name(call: str) -> str:
    """Return ``aten::mm`` for ``extern_kernels.mm``, and ``mkldnn::_linear_pointwise`` for
    ``torch.ops.mkldnn._linear_pointwise.default``.
    """
    if call.startswith("torch.ops."):
        namespace, operator = call.split(".")[2:4]
        return f"{namespace}::{operator}"
    operator = call.rpartition(".")[2]
    return f"aten::{_OPERATOR_OF.get(operator, operator)}"
