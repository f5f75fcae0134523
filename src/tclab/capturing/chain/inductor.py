"""Panes of Inductor: IR after fusion, calls into libraries, and kernels line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tclab.capturing.chain.resolve import Origins
from tclab.capturing.read.units import Unit
from tclab.capturing.trace.notes import Line
from tclab.model import Kernel, Listing, links, source_lines

LineKeys = dict[int, links.Keys]

# op0: ExternKernelSchedulerNode(ExternKernelOut), op1: SchedulerNode(ComputedBuffer)
# class op1_loop_body:
_HEAD = re.compile(r"^\s*(?:class )?(op\d+)(?:_loop_body|: \w*SchedulerNode)\b")
# class op1_loop_body:
_OP = re.compile(r"^\s*class (op\d+)_loop_body\b")
#         load = ops.load('buf0', get_index)
_VALUE = re.compile(r"^\s+(\w+) = ")


def ir_pane(listing: Listing, unit: Unit, origins: Origins) -> Listing:
    """The unit's IR, each value of a loop body linked to the nodes it was made for; the line that
    names an operation, to all nodes that Inductor says it computes.
    """
    above: LineKeys = {}
    marks: LineKeys = {}
    body, op = unit.body, ""
    for number, line in enumerate(source_lines(listing.code), 1):
        if head := _HEAD.match(line):
            op = head[1]
            marks[number] = (links.ir(unit.index, op),)
            computed = body.origins.get(op, ()) if body and not _OP.match(line) else ()
            above[number] = origins.keys(computed)
        elif body and op and (value := _VALUE.match(line)):
            made_for = body.marks.get(op, {}).get(value[1])
            if made_for is not None:
                marks[number] = (links.ir(unit.index, op, value[1]),)
                above[number] = origins.keys(made_for)
    return replace(listing, links=above, marks=marks)


# ------------------------------------------------------------------------------ kernels

# A line that gives a value a name, or puts one into memory: what a kernel computes.
# tmp3 = tl.broadcast_to(tmp2, [XBLOCK, R0_BLOCK])
# tl.store(out_ptr0 + (x0), tmp6, xmask)
_TRITON = re.compile(r"^(?:_?tmp\w+(?:, _?tmp\w+)* = |tl\.(?:store|atomic_\w+|device_assert)\()")
# out_ptr0[static_cast<int64_t>(0L)] = static_cast<float>(tmp_acc0);
_CPP = re.compile(r"\btmp(?:\d|_acc)\w*\b|\b(?:in_)?out_ptr\d+\[")
# Added to a C++ loop's variable after the line was written:
# auto tmp0 = in_ptr0[static_cast<int64_t>(x0_tail)];
_TAIL = re.compile(r"(?<=\w)_tail\b")
# The declaration of an accumulator:
# float tmp_acc0 = 0;
_ACCUMULATOR = re.compile(r"^[\w:<>,]+ tmp_acc\w+ = ")
# auto tmp3 = tmp0 + tmp2;
_NAMES = re.compile(r"^(?:const )?(?:[\w:<>,]+ )?(_?tmp\w+)(?:, (_?tmp\w+))* = ")
# the name in such a line:
# tmp3
_NAME = re.compile(r"_?tmp\w+")


def computes(line: str, language: str) -> bool:
    """Whether a kernel's line computes, loads or stores a value: not an index, a mask, a loop
    or a declaration.
    """
    text = line.strip()
    if language == "cpp":
        other = text.startswith("for") or _ACCUMULATOR.match(text)
        return bool(_CPP.search(text)) and text.endswith(";") and not other
    return bool(_TRITON.match(text))


def kernel_pane(kernel: Kernel, unit: Unit, index: int, origins: Origins) -> Listing:
    """The kernel, each computing line linked to the nodes and IR values it was written for.

    `index` counts the kernels of the unit; it is in the keys of the kernel's lines.
    """
    code = source_lines(kernel.code)
    marks = {n: (links.kernel(unit.index, index, n),) for n in range(1, len(code) + 1)}
    runs = _runs(code, kernel.language)
    above: dict[int, list[links.Keys]] = {}
    for note in unit.written_for(kernel):
        for number, written in find(runs, note.lines).items():
            above.setdefault(number, []).append(_keys(written, unit.index, origins))
    return replace(kernel, links={n: links.joined(k) for n, k in above.items()}, marks=marks)


def _runs(code: list[str], language: str) -> list[dict[int, str]]:
    """Computing lines that follow each other, by number."""
    runs: list[dict[int, str]] = [{}]
    for number, line in enumerate(code, 1):
        if computes(line, language):
            runs[-1][number] = _TAIL.sub("", line.strip())
        elif runs[-1]:
            runs.append({})
    return [run for run in runs if run]


def _keys(written: list[Line], unit: int, origins: Origins) -> links.Keys:
    marks = dict.fromkeys(mark for w in written for mark in (*w.marks, *w.again))
    values = dict.fromkeys(links.ir(unit, *w.body) for w in written if w.body)
    return (*values, *origins.keys(tuple(marks)))


def find(runs: list[dict[int, str]], lines: Iterable[Line]) -> dict[int, list[Line]]:
    """Line number → what was written as this line of the kernel; nothing where it is not sure.

    A writer writes all lines of a run. Several may write the same text for different nodes: if
    the kernel still has the text of each of them, the first is the first writer's, and so on.
    """
    lines = list(lines)
    writers = {line.writer: _Writer() for line in lines}
    for line in lines:
        writers[line.writer].add(line)
    turns: Counter[tuple[str, ...]] = Counter()
    alike = Counter(tuple(run.values()) for run in runs)
    written: dict[int, list[Line]] = {}
    for run in runs:
        text = tuple(run.values())
        able = [w for w in writers.values() if w.wrote(text)] or list(writers.values())
        if len(able) == alike[text]:
            able = [able[turns[text]]]
        turns[text] += 1
        for number, code in run.items():
            same = [x for w in able for x in w.find(code)]
            written[number] = same if len({x.marks for x in same}) == 1 else []
    return written


class _Writer:
    """The lines of one writer, by text and by the values they name."""

    def __init__(self) -> None:
        self.by_text: dict[str, list[Line]] = {}
        self.by_name: dict[str, list[Line]] = {}

    def add(self, line: Line) -> None:
        self.by_text.setdefault(line.text, []).append(line)
        for name in named(line.text):
            self.by_name.setdefault(name, []).append(line)

    def wrote(self, texts: Iterable[str]) -> bool:
        return all(text in self.by_text for text in texts)

    def find(self, text: str) -> list[Line]:
        """Lines change after they were written (an eviction policy): then a name tells."""
        of_names = (x for name in named(text) for x in self.by_name.get(name, ()))
        return self.by_text.get(text) or list(of_names)


def named(text: str) -> list[str]:
    """The values a line gives a name."""
    match = _NAMES.match(text)
    return list(_NAME.findall(match[0])) if match else []
