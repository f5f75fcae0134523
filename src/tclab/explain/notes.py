"""What the compiler did at which line: breaks, skips, specialisations, symbols, recompiles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from tclab import user_lines
from tclab.explain import fixes
from tclab.model import Break, Guard, LineNote, Recompile, SourceLine, Symbol

if TYPE_CHECKING:
    from tclab.capturing import Capture

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


def notes(capture: Capture) -> Notes:
    """Every note, by file, in the order of lines. Each is said once, however often it holds."""
    by_file: Notes = defaultdict(list)
    for location, note in [*_breaks(capture), *_recompiled(capture), *_specialised(capture),
                           *_dynamic(capture)]:  # fmt: skip
        if note not in by_file[location.file]:
            by_file[location.file].append(note)
    return {file: sorted(of, key=lambda n: n.line) for file, of in by_file.items()}


# --------------------------------------------------------------------------- breaks


def _breaks(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    for item in capture.breaks:
        lines = _users_lines(item)
        for place in lines[-1:]:
            hint = " Or: ".join(" ".join(text.split()) for text in fixes.of(item)[:2])
            label = "skipped" if item.skipped else "graph break"
            yield place, LineNote(place.line, label, _reason(item), hint)
        for place in lines[:-1][:1]:  # where the compiled frame calls what breaks
            inner = f"in {lines[-1].function}, line {lines[-1].line}: {item.reason}"
            yield place, LineNote(place.line, "graph break", inner)


def _users_lines(item: Break) -> list[SourceLine]:
    """Where a break is in the user's code, outermost first: PyTorch's own lines left out."""
    stack = item.stack or ((item.location,) if item.location else ())
    return user_lines.users(stack, lambda line: line.file)


def _reason(item: Break) -> str:
    number = f" [{item.gb_id}]" if item.gb_id else ""
    reason = f"{item.reason}{number}"
    return f"the frame runs without compiling: {reason}" if item.skipped else reason


# --------------------------------------------------------------------------- specialisations


def _specialised(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    """Values and sizes that guards fix, gathered line by line over all cache entries."""
    frames = starts(capture)
    facts: dict[tuple[str, int], dict[str, None]] = defaultdict(dict)
    places = {}
    for guards in capture.guards:
        for guard in guards:
            place = _place(guard, frames.get(guards.compile_id))
            if place is None or not (fact := _fact(guard)):
                continue
            key = place.file, place.line
            places[key] = place
            facts[key][fact] = None
    for key, every in facts.items():
        several = [fact for fact in every if not any(_covers(other, fact) for other in every)]
        if fixed := [fact for fact in several if not _leaves_open(fact)]:
            text, fix = _few(fixed), fixes.fixed(fixed)
            yield places[key], LineNote(key[1], "specialised", text, fix)


# y has size [any, 64]
_SIZE = re.compile(r"(.*) has size \[(.*)\]")


def _covers(general: str, special: str) -> bool:
    """Whether a size of one cache entry leaves open what another one fixes."""
    one, two = _SIZE.fullmatch(general), _SIZE.fullmatch(special)
    if not (one and two) or general == special or one[1] != two[1]:
        return False
    sizes = list(zip_longest(one[2].split(", "), two[2].split(", ")))
    return all(left in ("any", right) for left, right in sizes)


def _leaves_open(fact: str) -> bool:
    """Whether it is a size of which everything may vary."""
    size = _SIZE.fullmatch(fact)
    return size is not None and set(size[2].split(", ")) == {"any"}


def starts(capture: Capture) -> dict[str, SourceLine]:
    """compile_id → where the frame that was compiled begins, for the user's own frames."""
    from tclab.capturing.read.frames import frames

    places = ((ident, frame.location) for ident, frame in frames(capture.trace).items())
    return {ident: place for ident, place in places if user_lines.is_users(place.file)}


def _place(guard: Guard, frame: SourceLine | None) -> SourceLine | None:
    """The user's line a guard is about. An argument that is first read in PyTorch's own code is
    fixed where the frame begins.
    """
    if guard.location is None or user_lines.is_users(guard.location.file):
        return guard.location
    return frame if re.fullmatch(r"L\['\w+'\]", guard.source) else None


def _few(facts: list[str]) -> str:
    more = f"; and {len(facts) - _MOST} more" if len(facts) > _MOST else ""
    return "; ".join(facts[:_MOST]) + more


def _fact(guard: Guard) -> str:
    """What a guard on a value or on sizes fixes; '' for other guards."""
    check = guard.checks[0] if guard.checks else ""
    if guard.type == "TENSOR_MATCH":
        sizes = re.search(r"size=\[([^\]]*)\]", check)
        return f"{plain(guard.source)} has size {_sizes(sizes[1])}" if sizes else ""
    if guard.type in _VALUES:
        return _value(plain(check))
    if guard.type == "LAMBDA_GUARD" and ".size()" in check:
        return _bounds(plain(check.split("  #")[0]))
    return ""


def _value(check: str) -> str:
    """``n == 3``, ``SEEN is empty``; '' for what is no value of the user's."""
    if "__self__" in check:
        return ""  # of a method that the code left on the stack: what it belongs to has its own
    if empty := re.fullmatch(r"not ([\w.]+)", check):
        return f"{empty[1]} is empty"
    if length := re.fullmatch(r"len\((.+)\) == (\d+)", check):
        return f"{length[1]} has length {length[2]}"
    left, _, right = check.partition(" == ")
    return "" if left == right else check  # a constant of a module, torch.bool


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


def _sizes(text: str) -> str:
    """``[8, any]``: None stands for a size that may vary."""
    sizes = (size.strip() for size in text.split(","))
    return f"[{', '.join('any' if size == 'None' else size for size in sizes)}]"


_ACCESS = re.compile(r"\.__dict__\['(\w+)'\]|\._(?:modules|parameters|buffers)\['(\w+)'\]")
_ROOT = re.compile(r"\b[LG]\['(\w+)'\]")


def plain(source: str) -> str:
    """A guard's source as the user would write it: ``L['self']._modules['fc']`` is self.fc."""
    source = re.sub(r"L\['___stack\d+'\]", fixes.LEFT, source)
    source = _ROOT.sub(r"\1", source)
    return _ACCESS.sub(lambda m: "." + (m[1] or m[2]), source).strip()


# --------------------------------------------------------------------------- dynamic, recompiles


def _dynamic(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    for symbol in capture.symbols:
        if symbol.location is not None:
            yield symbol.location, LineNote(symbol.location.line, "dynamic", _symbol(symbol))


def _symbol(symbol: Symbol) -> str:
    return f"{plain(symbol.source)} may vary: it is {symbol.name} in the graph"


def _recompiled(capture: Capture) -> Iterator[tuple[SourceLine, LineNote]]:
    for item in capture.recompiles:
        if item.location is not None:
            reasons = [plain(reason) for _, reason in causes(item)]
            text = f"{item.function} compiled again ({item.compile_id}): {'; '.join(reasons)}"
            fix = " ".join(dict.fromkeys(map(fixes.again, reasons)))
            yield item.location, LineNote(item.location.line, "recompile", text, fix)


def causes(item: Recompile) -> list[tuple[str, str]]:
    """The cache entries that did not fit, newest first, each with the guard that failed."""
    entries = []
    for reason in item.reasons:
        entry, colon, text = reason.splitlines()[0].partition(": ")
        text = text if colon else entry
        entries.append((entry if colon else "", re.split(r"\s+# ", text)[0].strip()))
    return entries
