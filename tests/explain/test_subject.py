"""What NAME may be, and where its inputs come from."""

from __future__ import annotations

import sys

import pytest
import torch

from tclab.explain import load, subject
from tclab.explain.inputs import parse

MODEL = """\
import torch
from torch import nn

from . import sizes


class Net(nn.Module):
    def __init__(self, width=sizes.WIDTH):
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, x):
        return self.linear(x)


net = Net(5)


def make(width=4):
    return Net(width)


def step():
    return net(torch.ones(1, 5))


drops = nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5), nn.Dropout(), nn.Dropout(0.1))


def infers():
    return nn.Sequential(nn.Linear(5, 5), nn.Dropout()).eval()


def plain(x, y=2):
    return x * y


faster = torch.compile(plain)
faster_module = torch.compile(nn.Sequential(nn.Linear(5, 5), nn.Dropout()))


def halves(x):
    yield x / 2


def example_inputs():
    return [(torch.randn(1, 3),), (torch.randn(2, 3),)]
"""


def found(write, name, *specs, grad=False, eval_mode=False):
    write("pkg/__init__.py", "")
    write("pkg/sizes.py", "WIDTH = 3\n")
    path = write("pkg/model.py", MODEL)
    for module in [m for m in sys.modules if m.startswith("pkg")]:
        del sys.modules[module]
    with load.import_module(str(path)) as module:
        parsed = [parse(s) for s in specs]
        return subject.find(module, "pkg/model.py", name, parsed, grad=grad, eval_mode=eval_mode)


def test_a_class_of_a_file_in_a_package(write):
    got = found(write, "Net")
    assert got.is_module and got.callable.linear.in_features == 3
    assert [c.args[0].shape[0] for c in got.calls()] == [1, 2]
    assert torch.equal(got.calls()[0].args[0], got.calls()[0].args[0])
    assert got.remarks == ("An instance was made with Net().",)


def test_weights_are_the_same_each_time_and_the_state_of_random_numbers_stays(write):
    before = torch.get_rng_state()
    first, second = found(write, "Net"), found(write, "Net")
    assert torch.equal(first.callable.linear.weight, second.callable.linear.weight)
    assert torch.equal(before, torch.get_rng_state())


def test_an_instance_a_method_and_a_factory(write):
    assert found(write, "net", "f32[1,5]").callable.linear.in_features == 5
    assert found(write, "net.linear", "f32[1,5]").callable.in_features == 5
    made = found(write, "make", "f32[1,4]")
    assert made.is_module and made.remarks == ("The module is what make() returned.",)


def test_a_function_without_arguments_is_called_as_it_is(write):
    got = found(write, "step")
    assert not got.is_module and got.calls()[0].args == ()


def test_a_function_whose_parameters_have_defaults_is_called_without_inputs(write):
    path = write(
        "defaults.py", "import torch\ndef f(x=torch.ones(3), *, scale=2): return x * scale\n"
    )
    with load.import_module(str(path)) as module:
        (call,) = subject.find(module, "defaults.py", "f", [], grad=False).calls()
    assert (call.args, call.kwargs) == ((), {})


def test_inputs_of_the_command_line_come_first(write):
    got = found(write, "plain", "f32[7]", "y=3")
    assert got.calls()[0].args[0].shape == (7,) and got.calls()[0].kwargs == {"y": 3}
    assert len(found(write, "plain").calls()) == 2


def test_inputs_require_grad_where_no_parameter_does(write):
    assert found(write, "plain", "f32[7]", grad=True).calls()[0].args[0].requires_grad
    assert not found(write, "net", "f32[1,5]", grad=True).calls()[0].args[0].requires_grad


def test_what_was_compiled_already_is_kept_and_opened_for_a_target(write):
    got = found(write, "faster")
    assert got.own.objects == (got.callable,) and got.remarks == ()
    whole = got.compiled_whole()
    assert whole.callable.__name__ == "plain" and "for a target" in whole.remarks[0]


def test_a_file_may_have_the_name_of_another_module(write):
    path = write("json.py", "def f(x):\n    return x\n")
    kept = sys.modules["json"]
    with load.import_module(str(path)) as module:
        assert module.f(3) == 3 and module.__name__ == "json_"
    assert sys.modules["json"] is kept


def test_a_generator_function_is_remarked_on(write):
    (remark,) = found(write, "halves", "f32[3]").remarks
    assert "runs none of its code" in remark and "for value in" in remark
    assert found(write, "plain", "f32[3]").remarks == ()


@pytest.mark.parametrize("name", ["drops", "faster_module"])
def test_eval_mode_of_a_module(write, name):
    got = found(write, name, "f32[2,5]", eval_mode=True)
    assert not any(module.training for module in got.callable.modules())
    assert got.remarks == ()


def test_training_mode_is_remarked_on_where_it_changes_what_runs(write):
    (remark,) = found(write, "drops", "f32[2,5]").remarks
    assert remark.startswith("The module is in training mode, as BatchNorm1d and Dropout in it")
    assert found(write, "infers", "f32[2,5]").remarks == ("The module is what infers() returned.",)
    assert found(write, "net", "f32[1,5]").remarks == ()  # nothing in it heeds the mode
