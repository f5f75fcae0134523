"""Make the panes of Inductor's IR after fusion and of its kernels, linked line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tclab.capturing.chain.resolve import Origins
from tclab.capturing.read.units import Unit
from tclab.capturing.trace.notes import KernelLine
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
    """Make the pane of a unit's IR.

    Each value of a loop body is linked to the nodes for which it was made. The line that names an
    operation is linked to all nodes that Inductor computes in this operation.
    """
    line_links: LineKeys = {}
    marks: LineKeys = {}
    body, op = unit.loop_bodies, ""
    for number, line in enumerate(source_lines(listing.code), 1):
        if head := _HEAD.match(line):
            op = head[1]
            marks[number] = (links.ir_key(unit.index, op),)
            op_marks = body.origins.get(op, ()) if body and not _OP.match(line) else ()
            line_links[number] = origins.keys(op_marks)
        elif body and op and (value := _VALUE.match(line)):
            value_marks = body.marks.get(op, {}).get(value[1])
            if value_marks is not None:
                marks[number] = (links.ir_key(unit.index, op, value[1]),)
                line_links[number] = origins.keys(value_marks)
    return replace(listing, links=line_links, marks=marks)


# ------------------------------------------------------------------------------ kernels

# A line that names a value, or stores one:
# tmp3 = tl.broadcast_to(tmp2, [XBLOCK, R0_BLOCK])
# tl.store(out_ptr0 + (x0), tmp6, xmask)
_TRITON = re.compile(r"^(?:_?tmp\w+(?:, _?tmp\w+)* = |tl\.(?:store|atomic_\w+|device_assert)\()")
# out_ptr0[static_cast<int64_t>(0L)] = static_cast<float>(tmp_acc0);
_CPP = re.compile(r"\btmp(?:\d|_acc)\w*\b|\b(?:in_)?out_ptr\d+\[")
# The suffix that Inductor adds to a C++ loop's variable after it wrote the line:
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


def computes_value(line: str, language: str) -> bool:
    """Return whether a kernel's line computes, loads or stores a value; false for an index, a mask,
    a loop or a declaration.
    """
    text = line.strip()
    if language == "cpp":
        excluded = text.startswith("for") or _ACCUMULATOR.match(text)
        return bool(_CPP.search(text)) and text.endswith(";") and not excluded
    return bool(_TRITON.match(text))


def kernel_pane(kernel: Kernel, unit: Unit, index: int, origins: Origins) -> Listing:
    """Make a kernel's pane. Each computing line is linked to the nodes and IR values that it
    computes.

    `index` is the number of the kernel in its unit, a part of the keys of the kernel's lines.
    """
    code = source_lines(kernel.code)
    marks = {n: (links.kernel_key(unit.index, index, n),) for n in range(1, len(code) + 1)}
    runs = _computing_runs(code, kernel.language)
    line_links: dict[int, list[links.Keys]] = {}
    for note in unit.notes_on(kernel):
        for number, written in match_lines(runs, note.lines).items():
            line_links.setdefault(number, []).append(_origin_keys(written, unit.index, origins))
    return replace(
        kernel, links={n: links.merge_keys(k) for n, k in line_links.items()}, marks=marks
    )


def _computing_runs(code: list[str], language: str) -> list[dict[int, str]]:
    """Return the runs of consecutive computing lines, each as a map from line number to text."""
    runs: list[dict[int, str]] = [{}]
    for number, line in enumerate(code, 1):
        if computes_value(line, language):
            runs[-1][number] = _TAIL.sub("", line.strip())
        elif runs[-1]:
            runs.append({})
    return [run for run in runs if run]


def _origin_keys(lines: list[KernelLine], unit: int, origins: Origins) -> links.Keys:
    marks = dict.fromkeys(mark for line in lines for mark in (*line.marks, *line.again))
    values = dict.fromkeys(links.ir_key(unit, *line.body) for line in lines if line.body)
    return (*values, *origins.keys(tuple(marks)))


def match_lines(
    runs: list[dict[int, str]], lines: Iterable[KernelLine]
) -> dict[int, list[KernelLine]]:
    """Map each line number to the notes of the line that Inductor wrote there. A line that cannot
    be attributed gets an empty list.

    One writer writes all lines of a run. Several writers can write the same text for different
    nodes. If the kernel has as many equal runs as writers, the first run belongs to the first
    writer, and so on.
    """
    lines = list(lines)
    writers = {line.writer: _Writer() for line in lines}
    for line in lines:
        writers[line.writer].add(line)
    uses: Counter[tuple[str, ...]] = Counter()
    equal_runs = Counter(tuple(run.values()) for run in runs)
    written: dict[int, list[KernelLine]] = {}
    for run in runs:
        text = tuple(run.values())
        candidates = [w for w in writers.values() if w.wrote(text)] or list(writers.values())
        if len(candidates) == equal_runs[text]:
            candidates = [candidates[uses[text]]]
        uses[text] += 1
        for number, code in run.items():
            matches = [line for writer in candidates for line in writer.find_lines(code)]
            written[number] = matches if len({line.marks for line in matches}) == 1 else []
    return written


class _Writer:
    """The lines that one code generator wrote, by text and by the names that they assign."""

    def __init__(self) -> None:
        self.by_text: dict[str, list[KernelLine]] = {}
        self.by_name: dict[str, list[KernelLine]] = {}

    def add(self, line: KernelLine) -> None:
        self.by_text.setdefault(line.text, []).append(line)
        for name in assigned_names(line.text):
            self.by_name.setdefault(name, []).append(line)

    def wrote(self, texts: Iterable[str]) -> bool:
        return all(text in self.by_text for text in texts)

    def find_lines(self, text: str) -> list[KernelLine]:
        """Find a line by its text, or by its names if its text was changed later (an eviction
        policy was added).
        """
        by_name = (n for name in assigned_names(text) for n in self.by_name.get(name, ()))
        return self.by_text.get(text) or list(by_name)


def assigned_names(text: str) -> list[str]:
    """Return the names that a line assigns values to."""
    match = _NAMES.match(text)
    return list(_NAME.findall(match[0])) if match else []
