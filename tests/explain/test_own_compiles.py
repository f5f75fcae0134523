"""A file that compiles its parts itself is run as it is."""

from __future__ import annotations

import pytest
import torch

from tclab.explain import ExplainRequest, explain_named, own_compiles, subject
from tclab.model import Report
from tclab.render.report import counts

PARTS = """\
import types

import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x * self.number


class Net(nn.Module):
    def __init__(self, parts=4):
        super().__init__()
        self.parts = nn.ModuleList(Part(n) for n in range(parts))

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def speed_up(self):
        self.parts.compile()


class Trainer:
    def __init__(self):
        self.net = Net()
        for part in self.net.parts:
            part.compile(backend="eager")

    def fit(self, x):
        return self.net(x)


trainer = Trainer()
fit = trainer.fit


@torch.compile(backend="eager")
def rows(x):
    yield x + 1


def use_rows(x):
    return list(rows(x))


def unbound():
    net = Net()
    net.forward = types.MethodType(Net.forward, net)
    copy = Net()
    copy.__dict__.update(net.__dict__)
    copy._modules = {"parts": nn.ModuleList(torch.compile(part) for part in net.parts)}
    return copy


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    return x.sin()


aside = torch.compile(lambda x: x, backend="eager")


def plain(x):
    return x.cos()


def when_called(x):
    return torch.compile(plain, backend="eager")(x)


class Table:
    def __init__(self):
        self.handlers = [self.double]

    def double(self, x):
        return x + x


table = Table()
table.double = torch.compile(table.double, backend="eager")


def answer(x):
    return table.handlers[0](x)


called = Part(1)
called.compile(backend="eager")


def goes_round(x):
    return called.forward(x)


class Flow(nn.Module):
    def forward(self, x):
        return x + 1

    def inverse(self, x):
        return self.subtract(x)

    def subtract(self, x):
        return x - 1


flow = torch.compile(Flow(), backend="eager")


def sample(x):
    return flow.inverse(x)


def example_inputs():
    return (torch.ones(3),)
"""


@pytest.fixture
def explained(write):
    def run(name: str) -> Report:
        write("own_parts.py", PARTS)
        return explain_named(ExplainRequest.parse(f"own_parts.py:{name}"))

    return run


def test_the_parts_of_a_trainer_and_their_limit(explained):
    with torch._dynamo.config.patch(recompile_limit=2):
        report = explained("fit")
    assert (report.own.objects, report.own.frames, report.own.ok) == (4, 3, 2)
    assert report.own.limits == ("Part.forward",)
    said = counts.summary(report)
    assert said.startswith("Your file compiles 4 objects: 3 frames, 2 ok, the limit at `Part.forw")
    assert report.counts.recompiles == 1 and report.counts.all_graphs == 2


def test_a_forward_that_is_bound_to_another_object(explained):
    report = explained("unbound")
    line = PARTS.splitlines().index("    net.forward = types.MethodType(Net.forward, net)") + 1
    assert report.own.frames == 0 and report.counts.graphs == 0
    assert counts.summary(report) == (
        "0 frames were compiled of the 4 objects that your file compiles: "
        f"`forward` is bound to another object (own_parts.py:{line})."
    )


def test_a_function_that_is_compiled_keeps_its_own_options(explained):
    report = explained("whole")
    assert (report.own.objects, report.own.frames, report.own.ok) == (1, 1, 1)
    assert report.kernels == ()  # its backend is eager


def test_what_is_compiled_while_it_runs(explained):
    report = explained("when_called")
    assert report.own.frames == report.own.ok == 1


def test_compiled_objects_that_a_call_does_not_reach(explained):
    """A method that would compile, too, is no compile: the subject is compiled as ever."""
    assert explained("plain").own is None
    net = explained("Net")
    assert net.own is None and net.counts.graphs == 1


def test_for_a_target_the_whole_is_compiled():
    compiled = subject.Subject("f", "f", len, list, own=own_compiles.ReachableCompiles((len,)))
    whole = compiled.compiled_whole()
    assert not whole.own and "for a target" in whole.remarks[0]


def test_what_is_disabled_is_not_compiled():
    found = own_compiles.find(torch.compiler.disable(lambda x: x))
    assert not found.objects and not found.compiles


def test_an_original_that_was_stored_before_the_compile(explained):
    report = explained("answer")
    call, compile_ = (
        PARTS.splitlines().index(line) + 1
        for line in (
            "    return table.handlers[0](x)",
            'table.double = torch.compile(table.double, backend="eager")',
        )
    )
    assert counts.summary(report) == (
        "0 frames were compiled of the 1 object that your file compiles: the uncompiled "
        f"`Table.double` is called at own_parts.py:{call} (return table.handlers[0](x)); what "
        f"torch.compile made of it (own_parts.py:{compile_}) is not."
    )
    assert report.own.fix.endswith("(Not tried.)")


def test_a_forward_that_is_called_directly(explained):
    report = explained("goes_round")
    assert "the uncompiled `Part.forward` is called at own_parts.py:" in report.own.cause
    assert "return called(x). Tried: 1 frame is compiled." in report.own.fix


def test_another_method_than_forward_is_called(explained):
    report = explained("sample")
    line = PARTS.splitlines().index("    return flow.inverse(x)") + 1
    assert counts.summary(report) == (
        "0 frames were compiled of the 1 object that your file compiles: `Flow.inverse` is called "
        f"at own_parts.py:{line} (return flow.inverse(x)); a compiled module has a compiled "
        "`forward` and no other compiled method."
    )
    assert (
        report.own.fix == "Compile the function that calls the method. Tried: 1 frame is compiled."
    )


def test_a_note_of_a_library_is_no_compile():
    """accelerate keeps the original in an attribute of the module that it makes of it."""
    net = torch.nn.Linear(2, 2)
    net.__dict__["_orig_mod"] = torch.nn.Linear(2, 2)
    assert not own_compiles.is_compiled(net)
    assert own_compiles.is_compiled(torch.compile(net))


def test_a_generator_is_not_said_to_run_uncompiled_in_place_of_its_compile(explained):
    own = explained("use_rows").own
    line = PARTS.splitlines().index('@torch.compile(backend="eager")') + 1
    assert own.cause.startswith(f"`rows` (own_parts.py:{line}) is a generator")
    assert own.fix.endswith("Tried: 1 frame is compiled.")
