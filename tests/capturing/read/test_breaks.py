"""Every kind of graph break, counted once, with the true number of graphs."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
import torch

import tclab
from tclab.capturing.read.breaks import runs_at_breaks
from tclab.capturing.read.frames import library_callers
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace


def prints(x):
    x = x + 1
    print("break")
    return x * 2


def branches_on_data(x):
    x = x + 1
    if x.sum() > 0:
        return x * 2
    return x - 1


def calls_item(x):
    return x * x.sum().item()


def asks_for_a_break(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def calls_into_c(x):
    x = x + 1
    time.sleep(0)
    return x * 2


@torch.compiler.disable
def disabled(x):
    return x + 1


def calls_disabled(x):
    return disabled(x * 2) + 1


def breaks_twice(x):
    x = x + 1
    print("one")
    x = x + 2
    print("two")
    return x + 3


def breaks_under_no_grad(x):
    with torch.no_grad():
        x = x + 1
        print("break")
        x = x * 2
    return x + 3


def breaks_before_any_operation(x):
    print("break")
    return 1


def breaks_in_a_loop(x):
    for i in range(3):
        x = x + i
        print(i)
    return x


class Plain:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def breaks_in_a_with_block(x):
    with Plain():
        x = x + 1
        print("break")
        x = x * 2
    return x + 3


def breaks_in_a_try_block(x):
    try:
        x = x + 1
        print("break")
        x = x * 2
    except ValueError:
        pass
    return x + 3


def calls_twice(x):
    return prints(x) - prints(x * 3)


def does_not_break(x):
    return x.relu() + 1


def run(fn, calls=None) -> tclab.Capture:
    calls = calls or [(torch.ones(3),)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tclab.capture(fn, backend="eager").over(calls)


#: function, GB id of each break, number of graphs, whether the frame is given up
GALLERY = [
    (prints, ["GB0059"], 2, False),
    (branches_on_data, ["GB0170"], 2, False),
    (calls_item, ["GB0124"], 2, False),
    (asks_for_a_break, ["GB0025"], 2, False),
    (calls_into_c, ["GB0007"], 2, False),
    (calls_disabled, ["GB0098"], 2, False),
    (breaks_twice, ["GB0059", "GB0059"], 3, False),
    (breaks_under_no_grad, ["GB0059"], 2, False),
    (breaks_before_any_operation, ["GB0059"], 0, False),
    (breaks_in_a_loop, ["GB0059"], 0, True),
    (breaks_in_a_with_block, ["GB0059"], 0, True),
    (breaks_in_a_try_block, ["GB0059"], 0, True),
    (does_not_break, [], 1, False),
]


@pytest.mark.parametrize(
    ("fn", "ids", "graphs", "skipped"), GALLERY, ids=[row[0].__name__ for row in GALLERY]
)
def test_gallery(fn, ids, graphs, skipped):
    c = run(fn)
    assert [b.gb_id for b in c.breaks] == ids
    assert c.breaks.graphs == len(c.graphs) == graphs
    assert [b.skipped for b in c.breaks] == [skipped] * len(ids)


@pytest.mark.parametrize("fn", [row[0] for row in GALLERY if row[1]], ids=lambda f: f.__name__)
def test_each_break_says_what_where_and_what_to_do(fn):
    for b in run(fn).breaks:
        assert b.location is not None
        assert b.location.file == "tests/capturing/read/test_breaks.py"
        assert b.location.function == fn.__name__
        assert b.location.code in Path(__file__).read_text()
        assert b.stack[-1] == b.location
        assert b.reason.startswith(b.gb_type)
        assert b.explanation
        assert b.hints


class Doubled(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2


def test_a_break_in_an_autograd_function_has_its_own_kind():
    x = torch.ones(3, requires_grad=True)
    b, *_ = run(lambda x: Doubled.apply(x) + 1, [(x,)]).breaks
    assert b.gb_type == b.reason == "failed to bind arguments when attempting to inline"


def test_the_break_is_on_its_line():
    (b,) = run(prints).breaks
    assert b.location.line == prints.__code__.co_firstlineno + 2
    assert b.location.code == 'print("break")'
    assert b.gb_type == "Failed to trace builtin operator"
    assert "`print`" in b.explanation


def test_a_skipped_frame_says_why():
    (b,) = run(breaks_in_a_loop).breaks
    assert b.reason.endswith("frame skipped: graph break in loop")


class Solver:
    def __init__(self, t):
        self.t = t

    def run(self, t):
        if t.sum() > 0:
            return t + self.t
        return t - 1


def calls_a_method_that_breaks(t):
    return Solver(t * 2).run(t) * 3


def test_a_frame_is_skipped_once_for_the_break_of_its_last_attempt():
    called, skips = run(calls_a_method_that_breaks, [(torch.ones(3),)]).breaks
    assert (called.skipped, called.gb_type) == (False, "Data-dependent branching")
    assert (skips.skipped, skips.gb_type) == (True, "Reconstruction failure")
    assert [s.function for s in skips.stack] == ["calls_a_method_that_breaks"]


def test_a_break_in_an_inlined_function_counts_for_each_call_of_it():
    c = run(calls_twice)
    assert len(c.breaks) == 2
    for b in c.breaks:
        assert [s.function for s in b.stack] == ["calls_twice", "prints"]
    assert c.breaks.graphs == 4


def test_a_recompile_does_not_repeat_the_break():
    c = run(prints, [(torch.ones(3),), (torch.ones(4),)])
    assert (len(c.breaks), c.breaks.graphs, len(c.graphs)) == (1, 2, 4)


def test_two_functions_with_the_same_break_are_two_breaks():
    with tclab.capture() as c:
        for fn in (prints, breaks_under_no_grad):
            torch.compile(fn, backend="eager")(torch.ones(3))
    assert len(c.breaks) == 2


def test_the_recompile_limit_is_said_at_its_function():
    def squared(x):
        return x * x

    with torch._dynamo.config.patch(recompile_limit=2):
        sizes = [(torch.ones(*[2] * n),) for n in (1, 2, 3)]
        breaks = tclab.capture(squared, backend="eager").over(sizes).breaks
    (limit,) = breaks
    assert limit.gb_id == "GB0039" and limit.skipped and breaks.graphs == 1
    assert limit.location.line == squared.__code__.co_firstlineno
    assert limit.location.function == "squared"


def test_a_backend_that_fails_leaves_no_graph():
    """The operator's line is said, and no line of a caller, where the frame then runs in eager."""

    def placed(table, at):
        doubled = table * 2
        doubled[:, at] = 1
        return doubled

    breaks = tclab.capture(placed, backend="aot_eager")(torch.ones(2, 4), torch.tensor(1)).breaks
    (failed,) = breaks
    assert failed.gb_id == "GB0219" and failed.skipped and breaks.graphs == 0
    assert [line.function for line in failed.stack] == ["placed"]
    assert failed.location.code == "doubled[:, at] = 1"


def test_an_error_of_the_compiler_that_is_suppressed():
    def backend(graph, inputs):
        raise RuntimeError("no kernel for this")

    with torch._dynamo.config.patch(suppress_errors=True):
        breaks = tclab.capture(prints, backend=backend)(torch.ones(2)).breaks
    assert breaks.graphs == 0 and all(item.skipped for item in breaks)
    assert "no kernel for this" in breaks.breaks[0].reason
    assert breaks.breaks[0].location.function == "prints"


def halved(x):
    while (x > 1).any():
        x = x / 2
    return x


def test_a_loop_comes_to_its_break_once_a_step() -> None:
    """Eight is halved three times: the loop asks a fourth time, and then leaves."""
    torch._dynamo.reset()
    with tclab.capture() as seen:
        torch.compile(halved)(torch.full((2,), 8.0))
    (place,) = {str(broken.location) for broken in seen.breaks}
    seen.trace.add(names.CALLED, None, "", (None, None))
    assert runs_at_breaks(seen.trace) == {place: 4}


def _frame(name, line, file="/home/me/net.py"):
    return {"name": name, "line": line, "filename": file, "loc": ""}


def test_a_frame_that_was_taken_over_called_nothing_later():
    """A traceback has the line of the break of a frame that a resume function went on with."""
    library = "/home/me/venv/lib/python3.11/site-packages/pool/glob.py"
    stacks = (
        [_frame("forward", 13), _frame("conv", 40, library)],
        [_frame("forward", 13), _frame("torch_dynamo_resume_in_forward_at_13", 13)],
        [_frame("forward", 13), _frame("pool", 37, library)],
    )
    trace = Trace()
    for number, stack in enumerate(stacks):
        trace.add(names.START, {"stack": stack}, "", (f"{number}/0", None))
    callers = library_callers(trace)
    functions = {key: line.line for key, line in callers.items() if ":" in key}
    assert functions == {"pool/glob.py:conv": 13}


def test_what_called_tclab_led_to_nothing():
    """The script of the command is above tclab's own frames, and is none of the reader's lines."""
    library = _frame("conv", 40, "/home/me/venv/lib/python3.11/site-packages/pool/glob.py")
    above = [_frame("<module>", 8, "/home/me/bin/tclab"), _frame("run", 3, tclab.__file__)]
    trace = Trace()
    trace.add(names.START, {"stack": [*above, library]}, "", ("0/0", None))
    trace.add(names.START, {"stack": [*above, _frame("f", 5), library]}, "", ("1/0", None))
    callers = library_callers(trace)
    assert {line.line for line in callers.values()} == {5} and "pool/glob.py:conv" in callers
