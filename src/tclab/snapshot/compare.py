"""What differs between two snapshots: break by break, kernel by kernel."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from tclab.model import KernelIdentity, Snapshot
from tclab.snapshot.rewritings import older

#: How far two kernels agree, closest first.
SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS = (
    "same text",
    "same body",
    "same but for a known rewriting",
    "differs",
)
#: Where a compile can differ, in the order of a compile.
PARTS = (
    *("graph breaks", "recompiles", "graphs", "kernels", "library calls"),
    *("guards", "CUDA graphs", "memory"),
)
#: Numbers of a kernel that may differ while its body does not.
_NUMBERS = ("configuration", "loads", "stores", "calls", "bytes", "registers", "spilled", "shared")


@dataclass(frozen=True)
class Change:
    """One difference. Of what was gained `before` is '', of what was lost `after`.

    `worse` says whether a user would want it the other way; None where it cannot be said. `detail`
    is the part's number that differs, of a kernel what stands beside its code, such as registers;
    of graphs it is the stage; '' where the thing itself differs.
    """

    part: str
    title: str
    before: str
    after: str
    worse: bool | None = None
    detail: str = ""


@dataclass(frozen=True)
class KernelPair:
    """A kernel with the nearest of the other side, and how far they agree. None: it has none."""

    old: KernelIdentity | None
    new: KernelIdentity | None
    level: str = DIFFERS

    @property
    def kernels(self) -> tuple[KernelIdentity, ...]:
        """Those that are there: two, or one."""
        return tuple(each for each in (self.old, self.new) if each)


@dataclass(frozen=True)
class Comparison:
    """`pairs` of kernels; `rewritings` counts those that are known, by name."""

    changes: tuple[Change, ...] = ()
    pairs: tuple[KernelPair, ...] = ()
    rewritings: dict[str, int] = field(default_factory=dict)

    @property
    def levels(self) -> dict[str, int]:
        """Pairs of two kernels, by how far they agree."""
        return dict(Counter(pair.level for pair in self.pairs if pair.old and pair.new))

    @property
    def same(self) -> bool:
        """Nothing differs but what says nothing of the compile."""
        return not self.changes

    @property
    def first_part(self) -> str:
        """The first stage that differs, '' where none does."""
        return min((each.part for each in self.changes), key=PARTS.index, default="")


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """Whatever differs between two compiles, in the order of a compile."""
    rewritings: Counter[str] = Counter()
    kernels: list[Change] = []
    pairs: list[KernelPair] = []
    for old, new in _paired(before.kernels, after.kernels):
        if old is None or new is None:
            kernels.append(_alone(old, new))
            pairs.append(KernelPair(old, new))
            continue
        level, names = _level(old, new)
        pairs.append(KernelPair(old, new, level))
        rewritings.update(names)
        kernels += _kernel_changes(old, new, level)
    changes = [
        *_sets("graph breaks", before.breaks, after.breaks),
        *_sets("recompiles", before.recompiles, after.recompiles),
        *_graphs(before, after),
        *kernels,
        *_counts("library calls", before.library_calls, after.library_calls),
        *_number("guards", "guards", before.guards, after.guards),
        *_number("guards", "guards in Python", before.python_guards, after.python_guards),
        *_sets("CUDA graphs", before.skipped_graphs, after.skipped_graphs),
        *_number("memory", "planned bytes", before.planned_bytes, after.planned_bytes),
    ]
    return Comparison(tuple(changes), tuple(pairs), dict(rewritings))


# ------------------------------------------------------------------------------ kernels


def _paired(
    before: Iterable[KernelIdentity], after: Iterable[KernelIdentity]
) -> Iterator[tuple[KernelIdentity | None, KernelIdentity | None]]:
    """Each kernel with the nearest of the other side: the same body first, then the same
    operators, then the same kind.
    """
    olds, news = list(before), list(after)
    for key in (_exact, _rewritten, _fused, _sort):
        waiting: dict[Hashable, list[KernelIdentity]] = defaultdict(list)
        for new in news:
            waiting[key(new)].append(new)
        for old in tuple(olds):
            if same := waiting[key(old)]:
                new = same.pop(0)
                olds.remove(old)
                news.remove(new)
                yield old, new
    yield from ((old, None) for old in olds)
    yield from ((None, new) for new in news)


def _exact(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.body, tuple(sorted(kernel.launch.items()))


def _rewritten(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, _oldest(kernel)[0]


def _fused(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.category, kernel.operators


def _sort(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.operators


def _oldest(kernel: KernelIdentity) -> tuple[str, tuple[str, ...]]:
    return older(kernel.body) if kernel.language == "python" else (kernel.body, ())


def _level(old: KernelIdentity, new: KernelIdentity) -> tuple[str, tuple[str, ...]]:
    if old.text == new.text:
        return SAME_TEXT, ()
    if old.body == new.body:
        return SAME_BODY, ()
    (left, undone), (right, redone) = _oldest(old), _oldest(new)
    if left == right:
        return REWRITTEN, tuple({*undone} ^ {*redone})
    return DIFFERS, ()


def _kernel_changes(old: KernelIdentity, new: KernelIdentity, level: str) -> Iterator[Change]:
    if level == DIFFERS:
        yield Change("kernels", new.title, old.body, new.body)
    names = sorted(old.launch.keys() | new.launch.keys())
    for name in names:
        left, right = old.launch.get(name, ""), new.launch.get(name, "")
        if left != right:
            yield Change("kernels", f"{new.title}: {name}", left, right, detail=name)
    for name in _NUMBERS:
        left, right = getattr(old, name), getattr(new, name)
        if left != right and None not in {left, right}:
            worse = None if isinstance(left, str) else right > left
            yield Change("kernels", f"{new.title}: {name}", str(left), str(right), worse, name)


def _alone(old: KernelIdentity | None, new: KernelIdentity | None) -> Change:
    if old is not None:
        return Change("kernels", old.title, old.body, "", worse=None)
    assert new is not None
    return Change("kernels", new.title, "", new.body, worse=None)


# ----------------------------------------------------------------------------- the rest


def _sets(part: str, before: Iterable[object], after: Iterable[object]) -> Iterator[Change]:
    """What one side has more often than the other, each as its text."""
    olds, news = (Counter(map(str, side)) for side in (before, after))
    for each in (olds - news).elements():
        yield Change(part, each, each, "", worse=False)
    for each in (news - olds).elements():
        yield Change(part, each, "", each, worse=True)


def _graphs(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Graph by graph of each stage: which operators there are more of, and fewer."""
    for stage in dict.fromkeys(g.stage for g in (*before.graphs, *after.graphs)):
        olds, news = ([g for g in side.graphs if g.stage == stage] for side in (before, after))
        yield from _number("graphs", f"{stage} graphs", len(olds), len(news), detail=stage)
        if len(olds) == len(news):
            for place, (old, new) in enumerate(zip(olds, news)):
                where = f"{stage} {place}: "
                yield from _counts("graphs", old.operators, new.operators, where, stage)


def _counts(
    part: str, before: object, after: object, where: str = "", detail: str = ""
) -> Iterator[Change]:
    olds, news = Counter(before), Counter(after)  # type: ignore[call-overload]
    for name in sorted(olds.keys() | news.keys()):
        yield from _number(part, where + name, olds[name], news[name], False, detail)


def _number(
    part: str,
    title: str,
    before: int | None,
    after: int | None,
    judged: bool = True,
    detail: str = "",
) -> Iterator[Change]:
    if before != after and None not in {before, after}:
        worse = after > before if judged else None  # type: ignore[operator]
        yield Change(part, title, str(before), str(after), worse, detail or title)
