"""Why kernels differ: pairs of two compiles, grouped by the forms that tell them apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tclab.model import KernelIdentity
from tclab.snapshot import DIFFERS, REWRITTEN, KernelPair
from tclab.upgrade.dataflow import Flow
from tclab.upgrade.rules import (
    COMPILED,
    CONFIGURED,
    FORMS,
    FUSED,
    LAUNCH,
    ORDER,
    RANK,
    TILED,
    UNNAMED,
    Form,
)

# def kernel(ptr_0, ptr_1, ynumel, xnumel, YBLOCK, XBLOCK):
_BLOCK = re.compile(r"\b[XYZ]BLOCK\b")
#: What follows from a buffer of its own instead of one written in place.
_OF_PLACE = {"mutated_arg_names", "divisible by 16"}


@dataclass(frozen=True)
class Cause:
    """A form, and the pairs of kernels that it tells apart, among other forms perhaps."""

    form: Form
    pairs: tuple[KernelPair, ...]

    @property
    def example(self) -> KernelPair:
        """The pair with the least to read."""
        return min(self.pairs, key=lambda pair: sum(len(each.body) for each in pair.kernels))

    def total(self, name: str) -> tuple[int, int] | None:
        """Of all its kernels on either side; None where it is not known of one, or of no pair."""
        both = [[getattr(each, name) for each in pair.kernels] for pair in self.pairs]
        if any(len(each) < 2 or None in each for each in both):
            return None
        return sum(one for one, _ in both), sum(two for _, two in both)


def group(pairs: Iterable[KernelPair]) -> tuple[Cause, ...]:
    """The causes, what can move numbers first; a pair may have several."""
    members: dict[Form, list[KernelPair]] = defaultdict(list)
    for pair in _matched(pairs):
        for form in of(pair):
            members[form].append(pair)
    found = [Cause(form, tuple(some)) for form, some in members.items()]
    return tuple(sorted(found, key=lambda e: (-RANK.index(e.form.numbers), -len(e.pairs))))


def of(pair: KernelPair) -> tuple[Form, ...]:
    """The forms that tell two kernels apart, none where nothing does."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return (FUSED,)
    forms = _of_bodies(old, new) if pair.level in (DIFFERS, REWRITTEN) else ()
    names = {*old.launch, *new.launch}
    beside = {name for name in names if old.launch.get(name) != new.launch.get(name)}
    if any(form.memory for form in forms):
        beside -= _OF_PLACE
    if beside:
        return (*forms, LAUNCH)
    if old.configuration != new.configuration:
        return (*forms, CONFIGURED)
    taken = [(each.registers, each.spilled) for each in (old, new)]
    return forms or ((COMPILED,) if taken[0] != taken[1] else ())


def _of_bodies(old: KernelIdentity, new: KernelIdentity) -> tuple[Form, ...]:
    if old.language != "python":
        return (UNNAMED,)
    if _dimensions(old.body) != _dimensions(new.body) and old.operators == new.operators:
        return (TILED,)
    left, right = _flow(old.body), _flow(new.body)
    if left.form != right.form:
        some = (form for form in FORMS if left.fired[form.name] != right.fired[form.name])
        return (*some, UNNAMED if old.operators == new.operators else FUSED)
    return tuple(_needed(old.body, new.body)) or (ORDER,)


def _dimensions(body: str) -> list[str]:
    """The blocks that a kernel is launched with: ``YBLOCK``, ``XBLOCK``."""
    return _BLOCK.findall(body.partition("\n")[0])


def _needed(old: str, new: str) -> Iterator[Form]:
    """The forms without which the two would not be the same."""
    return (form for form in FORMS if _flow(old, form).form != _flow(new, form).form)


@cache
def _flow(body: str, without: Form | None = None) -> Flow:
    return Flow(body, [(form.name, form.rule) for form in FORMS if form is not without])


def _matched(pairs: Iterable[KernelPair]) -> Iterator[KernelPair]:
    """The pairs; of kernels that had none, two that compute the same are one."""
    both = [pair for pair in pairs if pair.old and pair.new]
    alone = [pair for pair in pairs if pair not in both]
    news = [pair.new for pair in alone if pair.new]
    yield from both
    for old in (pair.old for pair in alone if pair.old):
        like = next((new for new in news if _alike(old, new)), None)
        if like:
            news.remove(like)
        yield KernelPair(old, like)
    yield from (KernelPair(None, new) for new in news)


def _alike(old: KernelIdentity, new: KernelIdentity) -> bool:
    kinds = {(each.direction, each.language) for each in (old, new)}
    return kinds == {(new.direction, "python")} and _flow(old.body).form == _flow(new.body).form
