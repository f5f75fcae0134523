"""What makes compiled results equal to eager's is tried before it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.explain import ExplainRequest
from tclab.explain.trials import differing
from tclab.explain.trials.attempt import attempt
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.runner import TrialRunner
from tclab.explain.trials.same_results import list_rewrites
from tclab.model import Agreement, SourceLine

FILE = """\
import functools

import torch


@functools.cache
def table(width):
    return torch.randn(width)


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad


def total(x):
    return Rounded.apply(x).sum()


def slope(x):
    return torch.func.grad(total)(x)


def moved(rows):
    rows[1:] = rows[:-1].clone()
    return rows


def looked_up(x):
    return x + table(x.shape[-1])


def example_inputs():
    return [(torch.linspace(0.2, 1.4, 32).reshape(8, 4),)] * 2
"""


@pytest.mark.parametrize(("name", "count"), [("looked_up", 1), ("slope", 2), ("moved", 1)])
def test_the_lines_make_them_equal(write, name, count):
    write("unequal.py", FILE)
    request = ExplainRequest.parse(f"unequal.py:{name}")
    assert not attempt(request, Remedy(compared=True)).agrees
    said = {"looked_up": "functools.cache", "slope": "torch.func.grad", "moved": "out of place"}
    found = [each for each in list_rewrites(FILE) if said[name] in each.description]
    assert len(found) == count
    assert all(attempt(request, each).agrees for each in found)


def test_a_line_that_does_something_else_is_not_equal(write):
    write("unequal.py", FILE)
    request = ExplainRequest.parse("unequal.py:moved")
    line = FILE.splitlines().index("    rows[1:] = rows[:-1].clone()") + 1
    wrong = Remedy(lines={line: "    rows = rows.neg()"}, compared=True)
    raises = Remedy(lines={line: "    raise ValueError"}, compared=True)
    assert not attempt(request, wrong).agrees and not attempt(request, raises).agrees


def test_the_line_that_differs_is_tried_first_and_said(write):
    write("unequal.py", FILE)
    line = FILE.splitlines().index("    rows[1:] = rows[:-1].clone()") + 1
    found = Agreement("differs", stage="Inductor", line=SourceLine("unequal.py", line),
                      way="backend='aot_eager'")  # fmt: skip

    class Stub(TrialRunner):
        def run(self, remedy):
            return TrialResult(agrees=line in remedy.lines)

    runner = Stub(ExplainRequest.parse("unequal.py:moved"))
    way = differing.find_remedy(found, runner).way
    code = "rows.copy_(torch.cat((rows[:1], rows[:-1].clone()), 0))"
    assert way == f"write it out of place (line {line}): {code}"
    option = replace(found, way="dynamic=True")
    assert differing.find_remedy(option, runner) is option


def test_words():
    text = "keep = lru_cache(None)(made)\nrows[:, 2:] = rows[:, :-2]\nrows[0] = rows[1]\n"
    cached, joined = list_rewrites(text)
    assert cached.lines == {1: "keep = torch.compiler.disable(lru_cache(None)(made))"}
    assert joined.lines == {2: "rows.copy_(torch.cat((rows[:, :2], rows[:, :-2]), 1))"}
    (copied,) = list_rewrites("rows[1:].copy_(rows[:-1].clone())")
    assert copied.lines == {1: "rows.copy_(torch.cat((rows[:1], rows[:-1].clone()), 0))"}
    assert list_rewrites("x = 1\n") == list_rewrites("def broken(:\n") == []


def test_a_subclass_of_tensor_is_left_to_python() -> None:
    text = "class T:\n    @classmethod\n    def __torch_function__(cls, f):\n        return f\n"
    (found,) = list_rewrites(text)
    assert found.lines == {3: "    @torch.compiler.disable\n    def __torch_function__(cls, f):"}
