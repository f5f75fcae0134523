"""Find why kernels of two compiles differ: group their pairs by the forms that differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tclab.compare.flow import Flow
from tclab.compare.forms import (
    COMPILED,
    CONFIGURED,
    FORMS,
    FUSED,
    LAUNCH,
    LOOPED,
    NUMERIC_EFFECTS,
    ONLINE,
    ORDER,
    RESIZED,
    TILED,
    UNNAMED,
    Form,
)
from tclab.compare.pairs import DIFFERS, REWRITTEN, KernelPair
from tclab.model import KernelIdentity

# def kernel(ptr_0, ptr_1, ynumel, xnumel, YBLOCK, XBLOCK):
_BLOCK_SIZE = re.compile(r"\b[XYZ]BLOCK\b")
#: The launch settings that change if a buffer is written in place.
_CHANGED_WITH_IN_PLACE = {"mutated_arg_names", "divisible by 16"}


@dataclass(frozen=True)
class Cause:
    """A form, and the pairs of kernels that differ in this form. A pair can also differ in other
    forms.
    """

    form: Form
    pairs: tuple[KernelPair, ...]

    @property
    def example(self) -> KernelPair:
        """The pair with the shortest code."""
        return min(self.pairs, key=lambda pair: sum(len(each.body) for each in pair.kernels))

    def total(self, name: str) -> tuple[int, int] | None:
        """Return (sum over the old kernels, sum over the new kernels) of the number called `name`,
        such as ``registers``. Return None if a kernel lacks the number, or if a pair has only one
        kernel.
        """
        both = [[getattr(each, name) for each in pair.kernels] for pair in self.pairs]
        if any(len(each) < 2 or None in each for each in both):
            return None
        return sum(one for one, _ in both), sum(two for _, two in both)


def find_causes(pairs: Iterable[KernelPair]) -> tuple[Cause, ...]:
    """Return the causes; causes that can change results come first. A pair can have several
    causes.
    """
    return _group_by_form(
        (form, pair) for pair in pair_leftovers(pairs) for form in differing_forms(pair)
    )


def join_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Merge the causes of several compiles by form; causes that can change results come first."""
    return _group_by_form((each.form, pair) for each in causes for pair in each.pairs)


def _group_by_form(members: Iterable[tuple[Form, KernelPair]]) -> tuple[Cause, ...]:
    by_form: dict[Form, list[KernelPair]] = defaultdict(list)
    for form, pair in members:
        by_form[form].append(pair)
    found = [Cause(form, tuple(members)) for form, members in by_form.items()]
    return tuple(
        sorted(found, key=lambda e: (-NUMERIC_EFFECTS.index(e.form.numbers), -len(e.pairs)))
    )


def differing_forms(pair: KernelPair) -> tuple[Form, ...]:
    """Return the forms in which the kernels of a pair differ."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return (FUSED,)
    forms = _differing_body_forms(old, new) if pair.level in (DIFFERS, REWRITTEN) else ()
    names = {*old.launch, *new.launch}
    changed = {name for name in names if old.launch.get(name) != new.launch.get(name)}
    if any(form.memory for form in forms):
        changed -= _CHANGED_WITH_IN_PLACE
    if changed:
        return (*forms, LAUNCH)
    if old.configuration != new.configuration:
        return (*forms, CONFIGURED)
    resources = [(each.registers, each.spilled) for each in (old, new)]
    return forms or ((COMPILED,) if resources[0] != resources[1] else ())


def _differing_body_forms(old: KernelIdentity, new: KernelIdentity) -> tuple[Form, ...]:
    if old.language != "python":
        return (UNNAMED,)
    if _block_sizes(old.body) != _block_sizes(new.body) and old.operators == new.operators:
        return (TILED,)
    left, right = _build_flow(old.body), _build_flow(new.body)
    if left.canonical_lines != right.canonical_lines:
        applied = (form for form in FORMS if left.fired[form.name] != right.fired[form.name])
        return (*applied, _find_form_by_text(old, new))
    return tuple(_necessary_forms(old.body, new.body)) or (ORDER,)


#: A text that only one of two bodies contains, and the form that it indicates.
_FORM_BY_TEXT = (("online_softmax", ONLINE), ("for r0_offset", LOOPED))
# r0_numel = 768
_SIZE = re.compile(r"^ +\w+numel = \d+$", re.MULTILINE)


def _find_form_by_text(old: KernelIdentity, new: KernelIdentity) -> Form:
    """Return the form in which two bodies differ that no rule makes equal. If only one of the
    bodies contains a text of `_FORM_BY_TEXT`, this text indicates the form.
    """
    if old.operators != new.operators:
        return FUSED
    told = (form for text, form in _FORM_BY_TEXT if (text in old.body) != (text in new.body))
    resized = _SIZE.findall(old.body) != _SIZE.findall(new.body)
    return next(told, RESIZED if resized else UNNAMED)


def _block_sizes(body: str) -> list[str]:
    """Return the block sizes among a kernel's parameters, such as ``YBLOCK`` and ``XBLOCK``."""
    return _BLOCK_SIZE.findall(body.partition("\n")[0])


def _necessary_forms(old: str, new: str) -> Iterator[Form]:
    """Return the forms whose rules are needed to make the two bodies equal. A rule is not needed if
    the bodies become equal without this rule.
    """
    flows = _build_flow(old), _build_flow(new)
    return (
        form
        for form in FORMS
        if any(flow.fired[form.name] for flow in flows)
        and _build_flow(old, form).canonical_lines != _build_flow(new, form).canonical_lines
    )


@cache
def _build_flow(body: str, left_out: Form | None = None) -> Flow:
    return Flow(body, [(form.name, form.rule) for form in FORMS if form is not left_out])


def pair_leftovers(pairs: Iterable[KernelPair]) -> Iterator[KernelPair]:
    """Yield the pairs, after pairing the kernels without a partner that compute the same."""
    both = [pair for pair in pairs if pair.old and pair.new]
    alone = [pair for pair in pairs if pair not in both]
    news = [pair.new for pair in alone if pair.new]
    yield from both
    for old in (pair.old for pair in alone if pair.old):
        match = next((new for new in news if _are_equivalent(old, new)), None)
        if match:
            news.remove(match)
        yield KernelPair(old, match)
    yield from (KernelPair(None, new) for new in news)


def _are_equivalent(old: KernelIdentity, new: KernelIdentity) -> bool:
    kinds = {(each.direction, each.language) for each in (old, new)}
    return (
        kinds == {(new.direction, "python")}
        and _build_flow(old.body).canonical_lines == _build_flow(new.body).canonical_lines
    )
