"""Panes of Inductor: IR after fusion, calls into libraries, and kernels line by line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from tclab.model import Kernel, Listing
from tclab.stages._link_notes import KernelNote, Line
from tclab.stages.links import Keys, Notes, joined

Lines = dict[int, Keys]

_HEAD = re.compile(r"^\s*(?:class )?(op\d+)(?:_loop_body|: \w+SchedulerNode)\b")
_OP = re.compile(r"^\s*class (op\d+)_loop_body\b")
_VALUE = re.compile(r"^\s+(\w+) = ")
_BLOCK = re.compile(r"^\s+def (\w+)\(self, ops\b")


def ir_pane(listing: Listing, unit: int, notes: Notes) -> Listing:
    """The IR, each value of a loop body linked to the nodes it was made for; the line that
    names an operation, to all nodes that Inductor says it computes.
    """
    links: Lines = {}
    marks: Lines = {}
    body = notes.bodies.get(unit)
    op = ""
    for number, line in enumerate(listing.code.splitlines(), 1):
        if head := _HEAD.match(line):
            op = head[1]
            marks[number] = (f"ir:{unit}:{op}",)
            origins = body.origins.get(op, ()) if body and not _OP.match(line) else ()
            links[number] = notes.keys(origins)
        elif body and op and (value := _VALUE.match(line)):
            made = body.marks.get(op, {}).get(value[1])
            if made is not None:
                marks[number] = (f"ir:{unit}:{op}:{value[1]}",)
                links[number] = notes.keys(made)
    return replace(listing, links=links, marks=marks)


# ------------------------------------------------------------------------------ kernels

#: A line that gives a value a name, or puts one into memory: what a kernel computes.
_TRITON = re.compile(r"^(?:_?tmp\w+(?:, _?tmp\w+)* = |tl\.(?:store|atomic_\w+|device_assert)\()")
_CPP = re.compile(r"\btmp\w*\b|\b(?:in_)?out_ptr\d+\[")
_NAMES = re.compile(r"^(?:const )?(?:[\w:<>,]+ )?(_?tmp\w+)(?:, (_?tmp\w+))* = ")


def computes(line: str, language: str) -> bool:
    """Whether a kernel's line computes, loads or stores a value: not an index, a mask, a loop
    or a declaration.
    """
    text = line.strip()
    if language == "cpp":
        return bool(_CPP.search(text)) and text.endswith(";") and not text.startswith("for")
    return bool(_TRITON.match(text))


def kernel_pane(kernel: Kernel, unit: int, index: int, notes: Notes) -> Listing:
    """The kernel, each computing line linked to the nodes and IR values it was written for.

    `index` counts the kernels of the unit; it is in the keys of the kernel's lines.
    """
    found = notes.kernels.get(unit, {}).get(kernel.kernel_name, [])
    lines = kernel.code.splitlines()
    lookups = [_Lookup.of(note, lines) for note in found]
    links: Lines = {}
    marks: Lines = {}
    for number, line in enumerate(lines, 1):
        marks[number] = (kernel_key(unit, index, number),)
        if computes(line, kernel.language):
            keys = [_keys(lookup.find(line.strip()), unit, notes) for lookup in lookups]
            links[number] = joined(keys)
    return replace(kernel, links=links, marks=marks)


def kernel_key(unit: int, index: int, line: int) -> str:
    """The key of a kernel's line."""
    return f"kernel:{unit}.{index}:{line}"


def _keys(written: list[Line], unit: int, notes: Notes) -> Keys:
    marks = dict.fromkeys(mark for w in written for mark in (*w.marks, *w.again))
    bodies = dict.fromkeys(f"ir:{unit}:{w.body[0]}:{w.body[1]}" for w in written if w.body)
    return (*bodies, *notes.keys(tuple(marks)))


@dataclass
class _Lookup:
    """The lines written for one kernel, by their text and by the variables they name."""

    by_text: dict[str, list[Line]]
    by_name: dict[str, list[Line]]
    shown: Counter[str]  # how often each text stands in the kernel
    met: Counter[str]

    @classmethod
    def of(cls, note: KernelNote, lines: list[str]) -> _Lookup:
        shown = Counter(line.strip() for line in lines)
        lookup = cls({}, {}, shown, Counter())
        for line in note.lines:
            lookup.by_text.setdefault(line.text, []).append(line)
            for name in named(line.text):
                lookup.by_name.setdefault(name, []).append(line)
        return lookup

    def find(self, text: str) -> list[Line]:
        """What was written as this line of the kernel; to be asked line by line, in order.

        The same text may be written for several nodes: then order tells, if all of it is still
        there. Text may change after it was written: then the variable tells, if it has one
        origin.
        """
        same = self.by_text.get(text, [])
        position = self.met[text]
        self.met[text] += 1
        if len({w.marks for w in same}) > 1:
            return [same[position]] if len(same) == self.shown[text] else []
        of_names = [w for n in named(text) for w in self.by_name.get(n, ())]
        return same or (of_names if len({w.marks for w in of_names}) == 1 else [])


def named(text: str) -> list[str]:
    """The values a line gives a name."""
    match = _NAMES.match(text)
    return list(re.findall(r"_?tmp\w+", match[0])) if match else []
