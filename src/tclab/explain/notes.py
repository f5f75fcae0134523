"""What the compiler did at which line: breaks, skips, specialisations, symbols, recompiles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from tclab.compare import fixes
from tclab.compare.identity import STACK_VALUE, failed_guards, readable_source
from tclab.model import Break, Breaks, Guard, LineNote, SourceLine, Symbol
from tclab.text import user_lines

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.trials.remedy import Tried
    from tclab.model import Recompile

#: Notes by file, named as artifacts name it.
Notes = dict[str, list[LineNote]]

#: Guards that fix a value, as Dynamo's guard types are named.
_VALUES = frozenset({
    "EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "FALSE_MATCH", "TRUE_MATCH", "NONE_MATCH",
    "LENGTH_CHECK", "DICT_LENGTH", "TUPLE_LENGTH", "LIST_LENGTH", "SEQUENCE_LENGTH",
    "RANGE_ITERATOR_MATCH", "TUPLE_ITERATOR_LEN", "FLOAT_IS_NAN", "COMPLEX_IS_NAN",
})  # fmt: skip
#: At most so many facts of one kind in one note; a model's line may guard a hundred weights.
_MOST = 4


def notes(capture: Capture, tried: Tried) -> Notes:
    """Every note, by file, in the order of lines. Each is said once, however often it holds."""
    by_file: Notes = defaultdict(list)
    for location, note in [*_breaks(tried.breaks), *_recompiled(capture, tried.functions),
                           *_specialised(capture),
                           *_dynamic(capture)]:  # fmt: skip
        if note not in by_file[location.file]:
            by_file[location.file].append(note)
    return {file: sorted(of, key=lambda n: n.line) for file, of in by_file.items()}


# --------------------------------------------------------------------------- breaks


def _breaks(breaks: Breaks) -> Iterator[tuple[SourceLine, LineNote]]:
    for item in breaks:
        lines = _users_lines(item)
        for place in lines[-1:]:
            hint = " Or: ".join(" ".join(text.split()) for text in fixes.usable_hints(item)[:2])
            label = "skipped" if item.skipped else "graph break"
            yield place, LineNote(place.line, label, _reason(item), hint)
        for place in lines[:-1][:1]:  # where the compiled frame calls what breaks
            inner = f"in {lines[-1].function}, line {lines[-1].line}: {item.reason}"
            yield place, LineNote(place.line, "graph break", inner)


def _users_lines(item: Break) -> list[SourceLine]:
    """Where a break is in the user's code, outermost first: PyTorch's own lines left out."""
    stack = item.stack or ((item.location,) if item.location else ())
    return user_lines.select_user_lines(stack, lambda line: line.file)


def _reason(item: Break) -> str:
    number = f" [{item.gb_id}]" if item.gb_id else ""
    reason = f"{item.reason}{number}"
    return f"the frame runs without compiling: {reason}" if item.skipped else reason


# --------------------------------------------------------------------------- specialisations


def _specialised(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    """Values and sizes that guards fix, gathered line by line over all cache entries."""
    frames = starts(capture)
    facts: dict[tuple[str, int], dict[_Fact, None]] = defaultdict(dict)
    places = {}
    for guards in capture.guards:
        for guard in guards:
            place = _place(guard, frames.get(guards.compile_id))
            if place is None or (fact := _fact(guard)) is None:
                continue
            key = place.file, place.line
            places[key] = place
            facts[key][fact] = None
    for key, every in facts.items():
        several = [fact for fact in every if not any(other.covers(fact) for other in every)]
        if fixed := [fact for fact in several if not fact.leaves_open]:
            fix = fixes.KEEP_A_TENSOR if any(fact.carried for fact in fixed) else ""
            yield places[key], LineNote(key[1], "specialised", _few(fixed), fix)


@dataclass(frozen=True)
class _Fact:
    """What a guard fixes, as `text`; or the `sizes` of the tensor `text`, of which 'any' may vary.
    `carried` is a value from before a graph break.
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
        """Whether it is a size of which everything may vary."""
        return self.sizes is not None and {*self.sizes} == {"any"}

    def covers(self, special: _Fact) -> bool:
        """Whether a size of one cache entry leaves open what another one fixes."""
        if self.sizes is None or special.sizes is None:
            return False
        if self == special or self.text != special.text:
            return False
        pairs = zip_longest(self.sizes, special.sizes)
        return all(left in ("any", right) for left, right in pairs)


def starts(capture: Capture) -> dict[str, SourceLine]:
    """compile_id → where the frame that was compiled begins, for the user's own frames."""
    from tclab.capturing.read.frames import frames_by_compile

    places = ((ident, frame.location) for ident, frame in frames_by_compile(capture.trace).items())
    return {ident: place for ident, place in places if user_lines.is_user_file(place.file)}


def _place(guard: Guard, frame: SourceLine | None) -> SourceLine | None:
    """The user's line a guard is about. An argument that is first read in PyTorch's own code is
    fixed where the frame begins.
    """
    if guard.location is None or user_lines.is_user_file(guard.location.file):
        return guard.location
    return frame if re.fullmatch(r"L\['\w+'\]", guard.source) else None


def _few(facts: Sequence[object]) -> str:
    more = f"; and {len(facts) - _MOST} more" if len(facts) > _MOST else ""
    return "; ".join(map(str, facts[:_MOST])) + more


def _fact(guard: Guard) -> _Fact | None:
    """What a guard on a value or on sizes fixes; None for other guards."""
    check = guard.checks[0] if guard.checks else ""
    if guard.type == "TENSOR_MATCH":
        sizes = re.search(r"size=\[([^\]]*)\]", check)
        return _Fact(readable_source(guard.source), _sizes(sizes[1])) if sizes else None
    if guard.type in _VALUES:
        return _value(readable_source(check))
    if guard.type == "LAMBDA_GUARD" and ".size()" in check:
        text = _bounds(readable_source(check.split("  #")[0]))
        return _Fact(text) if text else None
    return None


def _value(check: str) -> _Fact | None:
    """``n == 3``, ``SEEN is empty``; None for what is no value of the user's."""
    if "__self__" in check:
        return None  # of a method that the code left on the stack: what it belongs to has its own
    if empty := re.fullmatch(r"not ([\w.]+)", check):
        return _Fact(f"{empty[1]} is empty")
    if length := re.fullmatch(r"len\((.+)\) == (\d+)", check):
        return _Fact(f"{length[1]} has length {length[2]}")
    left, _, right = check.partition(" == ")
    if not check or left == right:
        return None  # a constant of a module, torch.bool
    return _Fact(check, carried=left == STACK_VALUE and bool(right))


# 2 <= x.size()[0] <= 2147483647
_BOUNDS = re.compile(r"(?:(?P<least>\d+) <= )?(?P<what>[^<>=]+?)(?: <= (?P<most>\d+))?")
_LARGEST = 2**31 - 1  # that 32 bits can count: a kernel's index


def _bounds(check: str) -> str:
    """``x.size()[0] is at most 10``; '' for bounds that every symbol has: 2, and no end."""
    match = _BOUNDS.fullmatch(check)
    if not match:
        return check
    least = f"at least {match['least']}" if int(match["least"] or 0) > 2 else ""
    most = match["most"] if match["most"] and int(match["most"]) < _LARGEST else ""
    both = " and ".join(filter(None, (least, most and f"at most {most}")))
    return f"{match['what']} is {both}" if both else ""


def _sizes(text: str) -> tuple[str, ...]:
    """``8``, ``any``: None stands for a size that may vary."""
    sizes = (size.strip() for size in text.split(","))
    return tuple("any" if size == "None" else size for size in sizes)


# --------------------------------------------------------------------------- dynamic, recompiles


def _dynamic(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    for symbol in capture.symbols:
        if symbol.location is not None:
            yield symbol.location, LineNote(symbol.location.line, "dynamic", _symbol(symbol))


def _symbol(symbol: Symbol) -> str:
    return f"{readable_source(symbol.source)} may vary: it is {symbol.name} in the graph"


def _recompiled(
    capture: Capture, tried: Mapping[str, str]
) -> Iterator[tuple[SourceLine, LineNote]]:
    """One note for each function that was compiled again, with what ends it."""
    from tclab.capturing.read.frames import failed_compiles

    failed = failed_compiles(capture.trace)
    by_place: dict[SourceLine, list[Recompile]] = defaultdict(list)
    for item in capture.recompiles.recompiles:
        if item.location is not None and item.compile_id not in failed:
            by_place[item.location].append(item)
    for place, items in by_place.items():
        if len(items) == 1:
            guards = failed_guards(items[0])
            head = f"{items[0].function} compiled again ({items[0].compile_id})"
        else:
            guards = tuple(guard for item in items for guard in failed_guards(item)[:1])
            ids = f"{items[0].compile_id} to {items[-1].compile_id}"
            head = f"{items[0].function} compiled again {len(items)} times ({ids})"
        fix = tried.get(str(place)) or " ".join(fixes.fix_guards(guards))
        said = list(dict.fromkeys(_left(guard) for guard in guards))
        yield place, LineNote(place.line, "recompile", f"{head}: {_few(said)}", fix)


def _left(guard: str) -> str:
    """A guard with the name of a value that a break left as a reader knows it."""
    return re.sub(r"'___stack\d+(?:\[\d+\])*'", STACK_VALUE, guard)
