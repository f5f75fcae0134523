"""Compare the output code of a graph that was compiled again with the job's, kernel by kernel.

Four things are left out. The names of kernels: Inductor makes them of the operators before their
decomposition, which a trace does not have. The numbers in them. The hash of the installed Triton
(``backend_hash``), which is that of the machine. And the index of the GPU where the code has one
alone: the graph is compiled again for GPU 0.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from tclab.capturing.read.output_code import Definition, OutputCode, strip_handles
from tclab.model import JobReplayKernel

SAME, DIFFERS = "the same as in the job", "differs"
_MOST_LINES, _MOST_WIDTH = 40, 200
# 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336',
_BACKEND = re.compile(r"'backend_hash': '[0-9A-Fa-f]+', ")
# triton_poi_fused_add_relu_0
_NAME = re.compile(r"_fused_?\w*$|_\d+$")
_COMMENT = re.compile(r"^\s*#.*\n|^\s*\n|^AOT ID.*\n", re.MULTILINE)
# DeviceProperties(type='cuda', index=1,
# torch.cuda._DeviceGuard(1)
# torch.cuda.set_device(1)
# get_raw_stream(1)
# stream1
# raw_stream1
# 'cuda:1'
_GPU = re.compile(
    r"(?P<before>type='cuda', index=|_DeviceGuard\(|\bset_device\(|get_raw_stream\("
    r"|\b(?:raw_)?stream|\bcuda:)(?P<index>\d+)\b"
)
#: A quoted key of a kernel's settings, before which a long line is broken for the difference.
_KEY = re.compile(r", (?='\w+': )")


def compare_codes(job: str, again: str) -> tuple[JobReplayKernel, ...]:
    """Return each kernel of a job's output code with a verdict, and, as a kernel without a name,
    the code around the kernels. `again` is the output code of the second compile.
    """
    ours, theirs = OutputCode.parse(again), OutputCode.parse(_move_to_first_gpu(job))
    waiting: dict[str, list[Definition]] = defaultdict(list)
    for each in ours.definitions:
        waiting[plain_kernel(each)].append(each)
    found: list[JobReplayKernel | Definition] = []
    for each in theirs.definitions:
        if equal := waiting[plain_kernel(each)]:
            equal.pop(0)
            found.append(JobReplayKernel(each.name, True, SAME))
        else:
            found.append(each)
    unmatched = [*chain.from_iterable(waiting.values())]
    left = [each for each in ours.definitions if each in unmatched]
    kernels = [
        each if isinstance(each, JobReplayKernel) else _find_difference(each, left)
        for each in found
    ]
    return (*kernels, _compare_calls(theirs, ours))


def _move_to_first_gpu(code: str) -> str:
    """Return output code for one GPU as it is for GPU 0; code for several stays as it is."""
    if len({match["index"] for match in _GPU.finditer(code)}) != 1:
        return code
    return _GPU.sub(r"\g<before>0", code)


def _find_difference(kernel: Definition, left: list[Definition]) -> JobReplayKernel:
    """Return the verdict on a kernel that has no equal. It is compared with the first kernel of its
    kind in `left`, which is taken out.
    """
    category = _category(kernel)
    of_kind = [each for each in left if _category(each) == category]
    if not of_kind:
        return JobReplayKernel(kernel.name, False, DIFFERS, "no kernel of its kind was compiled")
    left.remove(of_kind[0])
    return JobReplayKernel(
        kernel.name, False, DIFFERS, _diff(plain_kernel(kernel), plain_kernel(of_kind[0]))
    )


def _compare_calls(theirs: OutputCode, ours: OutputCode) -> JobReplayKernel:
    try:
        there, here = _plain_calls(theirs), _plain_calls(ours)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return JobReplayKernel("", False, DIFFERS, "the output code is not Python")
    same = there == here
    difference = "" if same else _diff(there, here)
    return JobReplayKernel("", same, SAME if same else DIFFERS, difference)


def _category(kernel: Definition) -> str:
    """Return the beginning of a kernel's name: ``triton_poi``, ``cpp``."""
    return _NAME.sub("", kernel.function or kernel.name)


def plain_kernel(kernel: Definition) -> str:
    """Return the source of a kernel without its name and without the hash of Triton."""
    source = kernel.code
    for name in {kernel.function, kernel.name} - {""}:
        source = re.sub(rf"\b{re.escape(name)}\b", _category(kernel), source)
    return f"{kernel.kind}\n{_BACKEND.sub('', source).strip()}\n"


def _plain_calls(code: OutputCode) -> str:
    """Return output code without its kernels and comments. Names of kernels become numbers."""
    lines = code.text.splitlines(keepends=True)
    for first, last in _definition_lines(code.text):
        lines[first - 1 : last] = [""] * (last - first + 1)
    text = strip_handles("".join(lines))
    for number, each in enumerate(code.definitions):
        for name in sorted({each.function, each.name} - {""}, key=len, reverse=True):
            text = re.sub(rf"\b{re.escape(name)}(?=_\w*numel\b|\b)", f"kernel_{number}", text)
    return _COMMENT.sub("", text)


def _definition_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each statement that defines a kernel."""
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(value=ast.Call(ast.Attribute(ast.Name("async_compile")))):
                yield statement.lineno, statement.end_lineno or statement.lineno


def _diff(job: str, again: str) -> str:
    lines = difflib.unified_diff(
        _split(job), _split(again), "in the job", "compiled again", n=1, lineterm=""
    )
    return "\n".join(_shorten([*lines]))


def _split(text: str) -> list[str]:
    return _KEY.sub(",\n", text).splitlines()


def _shorten(lines: Sequence[str]) -> Iterator[str]:
    yield from (line[:_MOST_WIDTH] for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"… {len(lines) - _MOST_LINES} more lines"
