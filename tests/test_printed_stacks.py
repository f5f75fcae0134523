"""A stack that Python printed is read as it was, wherever it stands in a text."""

from __future__ import annotations

import textwrap
import traceback

from tclab.text.printed_stacks import PrintedFrame, read_frames

STACK = traceback.format_list(
    [
        traceback.FrameSummary("/a b/model.py", 12, "forward", line="return self.calls(x)"),
        traceback.FrameSummary("<string>", 2, "calls", lookup_line=False, line=""),
        traceback.FrameSummary("lib.py", 3, "Net.inner", line='print("File")'),
    ]
)
FRAMES = [
    PrintedFrame("/a b/model.py", 12, "forward", "return self.calls(x)"),
    PrintedFrame("<string>", 2, "calls"),
    PrintedFrame("lib.py", 3, "Net.inner", 'print("File")'),
]


def test_what_python_printed_is_read():
    assert list(read_frames("".join(STACK))) == FRAMES


def test_it_may_stand_in_another_text_at_any_indentation():
    for indent in ("", "    "):
        text = textwrap.indent(textwrap.dedent("".join(STACK)), indent)
        assert list(read_frames(f"Original traceback:\n{text}\nTypeError: no\n")) == FRAMES


def test_what_follows_an_entry_without_code_is_not_its_code():
    entry = '  File "m.py", line 1, in f'
    frame = PrintedFrame("m.py", 1, "f")
    assert list(read_frames(f"{entry}\nTypeError: no")) == [frame]
    assert list(read_frames(f"{entry}\n{entry}\n\n    y = 1")) == [frame, frame]


def test_a_text_without_a_stack_has_no_frames():
    assert list(read_frames("")) == []
    assert list(read_frames('//## File "kernel.py", line 34\n  File "m.py", line 1')) == []
