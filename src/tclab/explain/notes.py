"""Write notes on the user's lines: breaks, skips, specialisations, symbols and recompiles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from tclab.compare import fixes
from tclab.compare.identity import STACK_VALUE, readable_source
from tclab.findings.breaks import break_reason, select_lines
from tclab.findings.words import join_few
from tclab.model import Break, Breaks, Finding, Guard, LineNote, SourceLine, Symbol
from tclab.text import user_lines

if TYPE_CHECKING:
    from tclab.capturing import Capture

#: File name as in artifacts → the notes on the file.
Notes = dict[str, list[LineNote]]

#: Dynamo's types of guards that fix a value.
_VALUES = frozenset({
    "EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "FALSE_MATCH", "TRUE_MATCH", "NONE_MATCH",
    "LENGTH_CHECK", "DICT_LENGTH", "TUPLE_LENGTH", "LIST_LENGTH", "SEQUENCE_LENGTH",
    "RANGE_ITERATOR_MATCH", "TUPLE_ITERATOR_LEN", "FLOAT_IS_NAN", "COMPLEX_IS_NAN",
})  # fmt: skip


def notes(
    capture: Capture, breaks: Breaks, findings: Iterable[Finding], marks: Iterable[Finding]
) -> Notes:
    """Return all notes by file, in the order of lines; equal notes on a line appear once. Findings
    on recompiles are notes, and so are `marks`, for which there is nothing to do.
    """
    by_file: Notes = defaultdict(list)
    for location, note in [*_note_breaks(breaks), *_note_recompiles("recompile", findings),
                           *_note_recompiles("compiled again", marks),
                           *_note_fixed_values(capture),
                           *_note_symbols(capture)]:  # fmt: skip
        if note not in by_file[location.file]:
            by_file[location.file].append(note)
    return {file: sorted(of, key=lambda n: n.line) for file, of in by_file.items()}


# --------------------------------------------------------------------------- breaks


def _note_breaks(breaks: Breaks) -> Iterator[tuple[SourceLine, LineNote]]:
    for item in breaks:
        lines = _users_lines(item)
        for place in lines[-1:]:
            hint = " Or: ".join(" ".join(text.split()) for text in fixes.usable_hints(item)[:2])
            label = "skipped" if item.skipped else "graph break"
            yield place, LineNote(place.line, label, _describe_reason(item), hint)
        for place in lines[:-1][:1]:  # the compiled frame's call of the function that breaks
            inner = f"in {lines[-1].function}, line {lines[-1].line}: {item.reason}"
            yield place, LineNote(place.line, "graph break", inner)


def _users_lines(item: Break) -> list[SourceLine]:
    """Return the user's frames of a break, outermost first."""
    stack = item.stack or ((item.location,) if item.location else ())
    return select_lines(stack)


def _describe_reason(item: Break) -> str:
    reason = break_reason(item)
    return f"the frame runs without compiling: {reason}" if item.skipped else reason


# --------------------------------------------------------------------------- specialisations


def _note_fixed_values(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    """Yield a note for each line with the values and sizes that its guards fix, over all cache
    entries.
    """
    frames = starts(capture)
    facts: dict[tuple[str, int], dict[_Fact, None]] = defaultdict(dict)
    places = {}
    for guards in capture.guards:
        for guard in guards:
            place = _find_line(guard, frames.get(guards.compile_id))
            if place is None or (fact := _find_fact(guard)) is None:
                continue
            key = place.file, place.line
            places[key] = place
            facts[key][fact] = None
    for key, every in facts.items():
        several = [fact for fact in every if not any(other.covers(fact) for other in every)]
        if fixed := [fact for fact in several if not fact.leaves_open]:
            fix = fixes.KEEP_A_TENSOR if any(fact.carried for fact in fixed) else ""
            yield places[key], LineNote(key[1], "specialised", join_few([*map(str, fixed)]), fix)


@dataclass(frozen=True)
class _Fact:
    """The fact that a guard fixes: the condition `text`, or the `sizes` of the tensor named `text`,
    in which 'any' is a size that may vary. `carried` is true for a value from before a graph break.
    """

    text: str
    sizes: tuple[str, ...] | None = None
    carried: bool = False

    def __str__(self) -> str:
        return (
            self.text if self.sizes is None else f"{self.text} has size [{', '.join(self.sizes)}]"
        )

    @property
    def leaves_open(self) -> bool:
        """Whether all sizes may vary."""
        return self.sizes is not None and {*self.sizes} == {"any"}

    def covers(self, narrower: _Fact) -> bool:
        """Return whether this fact leaves open all sizes in which it differs from `narrower`."""
        if self.sizes is None or narrower.sizes is None:
            return False
        if self == narrower or self.text != narrower.text:
            return False
        pairs = zip_longest(self.sizes, narrower.sizes)
        return all(left in ("any", right) for left, right in pairs)


def starts(capture: Capture) -> dict[str, SourceLine]:
    """Map the compile_id to the first line of the compiled frame, for frames of the user's code."""
    from tclab.capturing.read.frames import frames_by_compile

    places = ((ident, frame.location) for ident, frame in frames_by_compile(capture.trace).items())
    return {ident: place for ident, place in places if user_lines.is_user_file(place.file)}


def _find_line(guard: Guard, frame: SourceLine | None) -> SourceLine | None:
    """Return the user's line that a guard is about. If PyTorch's own code reads the value first,
    return the line where the frame begins.
    """
    if guard.location is None or user_lines.is_user_file(guard.location.file):
        return guard.location
    return frame if re.fullmatch(r"L\['\w+'\]", guard.source) else None


def _find_fact(guard: Guard) -> _Fact | None:
    """Return the value or the sizes that a guard fixes; None for other guards."""
    check = guard.checks[0] if guard.checks else ""
    if guard.type == "TENSOR_MATCH":
        sizes = re.search(r"size=\[([^\]]*)\]", check)
        return _Fact(readable_source(guard.source), _format_sizes(sizes[1])) if sizes else None
    if guard.type in _VALUES:
        return _find_value_fact(readable_source(check))
    if guard.type == "LAMBDA_GUARD" and ".size()" in check:
        text = _describe_bounds(readable_source(check.split("  #")[0]))
        return _Fact(text) if text else None
    return None


def _find_value_fact(check: str) -> _Fact | None:
    """Return the fact of a check such as ``n == 3``; None if the value does not belong to the
    user.
    """
    if "__self__" in check:
        return None  # a method on the stack, whose object has its own guard
    if empty := re.fullmatch(r"not ([\w.]+)", check):
        return _Fact(f"{empty[1]} is empty")
    if length := re.fullmatch(r"len\((.+)\) == (\d+)", check):
        return _Fact(f"{length[1]} has length {length[2]}")
    left, _, right = check.partition(" == ")
    if not check or left == right:
        return None  # a constant of a module, such as torch.bool
    return _Fact(check, carried=left == STACK_VALUE and bool(right))


# 2 <= x.size()[0] <= 2147483647
_BOUNDS = re.compile(r"(?:(?P<least>\d+) <= )?(?P<what>[^<>=]+?)(?: <= (?P<most>\d+))?")
_LARGEST = 2**31 - 1  # the largest index of a kernel with 32-bit indices


def _describe_bounds(check: str) -> str:
    """Describe the bounds of a size: ``x.size()[0] is at most 10``. Return '' for "at least 2",
    which every symbol has.
    """
    match = _BOUNDS.fullmatch(check)
    if not match:
        return check
    least = f"at least {match['least']}" if int(match["least"] or 0) > 2 else ""
    most = match["most"] if match["most"] and int(match["most"]) < _LARGEST else ""
    both = " and ".join(filter(None, (least, most and f"at most {most}")))
    return f"{match['what']} is {both}" if both else ""


def _format_sizes(text: str) -> tuple[str, ...]:
    """Return the sizes as text; ``any`` replaces None, a size that may vary."""
    sizes = (size.strip() for size in text.split(","))
    return tuple("any" if size == "None" else size for size in sizes)


# --------------------------------------------------------------------------- dynamic, recompiles


def _note_symbols(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    for symbol in capture.symbols:
        if symbol.location is not None:
            yield (
                symbol.location,
                LineNote(symbol.location.line, "dynamic", _describe_symbol(symbol)),
            )


def _describe_symbol(symbol: Symbol) -> str:
    return f"{readable_source(symbol.source)} may vary: it is {symbol.name} in the graph"


def _note_recompiles(
    label: str, findings: Iterable[Finding]
) -> Iterator[tuple[SourceLine, LineNote]]:
    """Yield a note for each function that was compiled again."""
    for each in findings:
        if each.section == "recompiles":
            for place in each.places:
                fix = " Or: ".join(each.actions)
                yield place, LineNote(place.line, label, each.what, fix)
