"""Pair each kernel of a compile with the most similar one of another compile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from tclab.compare.rewritings import older_body
from tclab.model import KernelIdentity

#: The levels of agreement of two kernels, closest first.
SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS = (
    "same text",
    "same body",
    "same but for a known rewriting",
    "differs",
)


@dataclass(frozen=True)
class KernelPair:
    """Two similar kernels and their agreement; `old` or `new` is None if there is no partner.

    If the level is `REWRITTEN`, `rewritings` names the known rewritings by which the two differ.
    """

    old: KernelIdentity | None
    new: KernelIdentity | None
    level: str = DIFFERS
    rewritings: tuple[str, ...] = ()

    @property
    def kernels(self) -> tuple[KernelIdentity, ...]:
        """The kernels that are not None: one or two."""
        return tuple(each for each in (self.old, self.new) if each)


def pair_kernels(
    before: Iterable[KernelIdentity], after: Iterable[KernelIdentity]
) -> Iterator[KernelPair]:
    """Yield each kernel paired with the most similar one of the other side.

    Kernels with the same body are paired first, then those that differ in a known rewriting, then
    those of the same category with the same operators, then those with the same operators.
    """
    olds, news = list(before), list(after)
    for key in (_key_by_body, _key_by_older_body, _key_by_fusion, _key_by_operators):
        waiting: dict[Hashable, list[KernelIdentity]] = defaultdict(list)
        for new in news:
            waiting[key(new)].append(new)
        for old in tuple(olds):
            if same := waiting[key(old)]:
                new = same.pop(0)
                olds.remove(old)
                news.remove(new)
                yield KernelPair(old, new, *_judge_agreement(old, new))
    yield from (KernelPair(old, None) for old in olds)
    yield from (KernelPair(None, new) for new in news)


def _key_by_body(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.body, tuple(sorted(kernel.launch.items()))


def _key_by_older_body(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, _oldest_body(kernel)[0]


def _key_by_fusion(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.category, kernel.operators


def _key_by_operators(kernel: KernelIdentity) -> Hashable:
    return kernel.direction, kernel.operators


def _oldest_body(kernel: KernelIdentity) -> tuple[str, tuple[str, ...]]:
    return older_body(kernel.body) if kernel.language == "python" else (kernel.body, ())


def _judge_agreement(old: KernelIdentity, new: KernelIdentity) -> tuple[str, tuple[str, ...]]:
    if old.text == new.text:
        return SAME_TEXT, ()
    if old.body == new.body:
        return SAME_BODY, ()
    (left, undone), (right, redone) = _oldest_body(old), _oldest_body(new)
    if left == right:
        return REWRITTEN, tuple(sorted({*undone} ^ {*redone}))
    return DIFFERS, ()
