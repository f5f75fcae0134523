"""What a file compiles itself is compared with the file without torch.compile."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

from tclab.capturing.agreement import values
from tclab.explain import ExplainRequest, failures, load, run, subject
from tclab.explain.steps import silent
from tclab.explain.trials import (
    breaks,
    differing,
    failing,
    recompile_remedies,
    recompiles,
    same_results,
)
from tclab.explain.trials.attempt import attempt
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.rewrites import disabled_functions
from tclab.explain.trials.runner import TrialRunner
from tclab.model import DIFFERS, EQUAL, RANDOM, Break, Breaks, SourceLine

FILE = """\
import random

import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
compiled = torch.compile(net, backend="eager")
seen = []
average = {name: p.detach().clone() for name, p in net.named_parameters()}


def keep(module, args, output):
    seen.append(output.detach())


def late_hook(x, wanted=False):
    if wanted:
        net[0].register_forward_hook(keep)
    return compiled(x)


def averaged(x):
    with torch.no_grad():
        for name, p in compiled.named_parameters():
            if name in average:
                average[name].add_(p)
    return compiled(x), average["0.weight"].clone()


def trained(x):
    compiled(x).sum().backward()
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(p.grad)
            p.grad = None
    return len(seen)


def drawn(x):
    return compiled(x) + random.random() + torch.rand(1)


def example_inputs():
    x = torch.ones(2, 4)
    return [(x,), (x,)]
"""

EXAMPLES = "    return [(x,), (x,)]"


@pytest.fixture
def requested(write):
    def make(name: str) -> ExplainRequest:
        write("own.py", FILE.replace(EXAMPLES, "    return [(x,), (x, True)]")
              if name == "late_hook" else FILE)  # fmt: skip
        return ExplainRequest.parse(f"own.py:{name}")

    return make


def agreement_of(request: ExplainRequest):
    where, name = load.split(request.spec)
    with load.import_module(where) as module:
        named = subject.find(module, where, name, (), grad=False)
        return run.Compilation(named, request, silent).run().agreement


def test_training_of_a_compiled_module_is_equal_to_eager(requested):
    found = agreement_of(requested("trained"))
    assert (found.verdict, found.ulps, found.reason) == (EQUAL, 0, "")


def test_random_numbers_of_python_are_the_same_on_both_sides(requested):
    assert agreement_of(requested("drawn")).verdict in (EQUAL, RANDOM)


def test_a_hook_that_comes_after_the_first_call(requested):
    found = agreement_of(requested("late_hook"))
    assert (found.verdict, found.stage) == (DIFFERS, "Dynamo")
    assert [each.where for each in found.differences] == ["the variable seen[0]"]
    assert "no other mode" not in found.next_step


def test_hooks_are_seen_with_the_setting_that_is_advised(requested):
    remedies = list(differing.remedies(FILE, 0))
    (way,) = [each for each in remedies if each.settings]
    request = requested("late_hook")
    assert attempt(request, way).agrees
    assert not attempt(request, replace(way, settings={})).agrees


TRAINS = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 8)
adam = torch.optim.AdamW(net.parameters(), lr=0.1)
step = torch.compile(lambda: adam.step(), backend="eager")


def train(x):
    net(x).square().mean().backward()
    step()
    adam.zero_grad()
    return net.weight.detach()


def example_inputs():
    return [(torch.randn(4, 8),) for _ in range(6)]
"""


def test_a_compiled_step_of_an_optimizer_differs_by_rounding_alone(write):
    """Eager computes Adam's corrections in Python, and Dynamo makes tensors of float32 of them."""
    write("trains.py", TRAINS)
    found = agreement_of(ExplainRequest.parse("trains.py:train"))
    assert found.verdict == EQUAL and "float32" in found.reason, found


def test_a_small_number_that_a_compiled_step_leaves_out_differs(write):
    decay = "net.weight.data.mul_(1 if torch.compiler.is_compiling() else 1 - 1e-6)"
    write("trains.py", TRAINS.replace("lambda: adam.step()", f"lambda: ({decay}, adam.step())"))
    found = agreement_of(ExplainRequest.parse("trains.py:train"))
    assert (found.verdict, found.stage) == (DIFFERS, "Dynamo"), found


HEAD = """\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, h):
        with torch.autocast("cpu", enabled=False):
            return h.float() @ self.weight.float().T


compiled = torch.compile(Head(), backend="aot_eager")


def step(h):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return compiled(h)


def example_inputs():
    return (torch.randn(4, 64, dtype=torch.bfloat16),)
"""


def test_a_gradient_rounded_to_a_type_in_which_eager_computes_nothing_differs(write):
    """pytorch#179804: compiled, the backward runs under the autocast around the call."""
    write("head.py", HEAD)
    found = agreement_of(ExplainRequest.parse("head.py:step", backward=True))
    assert (found.verdict, found.stage) == (DIFFERS, "AOTAutograd"), found
    assert found.line is not None and found.line.function == "forward"
    assert 'backward_pass_autocast = "off"' in found.next_step and "tried" in found.next_step


def test_a_gradient_in_the_type_of_the_autocast_around_the_call_is_equal(write):
    write("head.py", HEAD.replace("enabled=False", "dtype=torch.bfloat16"))
    found = agreement_of(ExplainRequest.parse("head.py:step", backward=True))
    assert found.verdict == EQUAL, found


def test_names_of_parameters_differ_before_anything_is_compiled(requested):
    request = requested("averaged")
    found = agreement_of(request)
    assert found.verdict == DIFFERS and found.stage.startswith("the object that torch.compile")
    ways = [each for each in differing.remedies(FILE, 0) if each.in_place]
    helpful = [each for each in ways if attempt(request, each).agrees]
    assert helpful and all("`_orig_mod.`" in each.description for each in helpful)


def test_without_a_file_nothing_is_compared():
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    named = subject.Subject("f", "f", compiled, list, own=subject.own_compiles.find(compiled))
    comparison = run.Compilation(named, ExplainRequest("f"), silent)._own_comparison()
    assert "imported anew" in comparison


# --------------------------------------------------------------------------- other trials


ASKS = """\
import torch

kept = []


def f(x):
    if not torch.compiler.is_compiling():
        kept.append(x.sum())
    return x + 1
"""


def test_a_question_whether_it_is_compiled(write):
    write("asks.py", f"{ASKS}\n\ndef example_inputs():\n    return (torch.ones(2),)\n")
    (way,) = same_results.list_rewrites(ASKS, 7)
    assert "is True while the code is compiled (line 7)" in way.description
    request = ExplainRequest.parse("asks.py:f")
    request = replace(request, options={"backend": "eager"})
    assert attempt(request, way).agrees
    assert not attempt(request, replace(way, lines={})).agrees


FAILS = """\
import random

import torch


def drawn():
    rng = random.Random(random.randint(0, 9))
    return rng.randrange(4)


def f(x):
    return x + drawn()


def example_inputs():
    return (torch.ones(2),)
"""


def test_a_function_that_dynamo_fails_on_is_left_to_python(write):
    write("fails.py", FAILS)
    request = ExplainRequest.parse("fails.py:f")
    (way,) = disabled_functions(FAILS, 7)
    assert way.description.startswith("@torch.compiler.disable above drawn (line 6)")
    seen = attempt(request, replace(way, backend="eager"))
    assert not seen.error and seen.compiles
    assert "is not a constant" in attempt(request, Remedy()).error


class Canned(TrialRunner):
    """Answers as a process would: `answers` by backend, and by how a module is compiled."""

    def run(self, remedy: Remedy) -> TrialResult | None:
        if remedy.backend == "eager":
            return TrialResult(compiles={"f.py:1": 1})
        return TrialResult("double backward")


class PatternsAlone:
    """Trials of a compile that fails in Inductor, and only with its patterns."""

    request = None  # it is in no file, so no line can be changed

    def run(self, remedy: Remedy) -> TrialResult:
        options = remedy.options.get("options", {})
        fails = remedy.backend == "inductor" and options.get("pattern_matcher", True)
        return TrialResult(error="no") if fails else TrialResult(compiles={"m.py:1": 1})


def test_a_pattern_of_inductor_that_fails_is_left_out():
    found = failing.diagnose(PatternsAlone(), place="m.py:1")
    assert found.stage == "Inductor" and "{'pattern_matcher': False}" in found.workaround
    assert "max_fusion_size" in found.tried[0]


def test_a_fault_of_the_backend_is_no_fault_of_the_object():
    error = RuntimeError("torch.compile with aot_autograd does not currently support double")
    named = subject.Subject("f", "f.py:f", lambda: None, list)
    found = failures.explain_own_compile_error(named, error, Canned(None))
    assert "in place" not in str(found) and "backend='eager' runs it" in str(found)


def test_a_stage_that_fails_names_the_backend_that_ends_before_it():
    assert failing.diagnose(Canned(None)).step == failing._EARLIER_STAGES["AOTAutograd"]
    lowering = "torch._inductor.exc.InductorError: LoweringException: DynamicOutputShapeException"
    found = failing.diagnose(Canned(None), "f.py:1", lowering)
    assert found.stage == "Inductor" and not found.workaround  # the trial without kernels failed


LOOP = """\
def steps(x):
    h = x[:, 0]
    for t in range(x.shape[1]):
        h = h * 0.5 + x[:, t]
    return h
"""


def test_a_loop_over_a_size_is_named(write, monkeypatch):
    write("loop.py", LOOP)
    monkeypatch.setattr(recompiles.source, "files", lambda: {"loop.py": "loop.py"})
    size = "tensor 'x' size mismatch at index 1. expected 4, actual 6"
    sizes = tuple(re.finditer("size mismatch", size))
    function = recompile_remedies.RecompiledFunction(
        SourceLine("loop.py", 1), (size,), limited=False, sizes=sizes
    )
    said = recompiles._explain_loop(function)
    assert said.startswith("`for t in range(x.shape[1])` (loop.py:3) is unrolled")
    assert not recompiles._explain_loop(replace(function, guards=("n == 3",), sizes=()))


def test_a_subclass_of_tensor_is_copied_as_one():
    class Scaled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("a copy asks nothing of the subclass")

    with torch._C.DisableTorchFunctionSubclass():
        given = torch.arange(4.0).as_subclass(Scaled)
        copied = values.deep_copy([given])[0]
        copied.add_(1)
        assert type(copied) is Scaled and given[0] == 0 and copied[3] == 4


def test_the_error_of_an_operator_on_fake_tensors_is_named():
    text = (
        "making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
    )
    error = RuntimeError(text + "call_function round(*()): got AttributeError('no __round__')")
    assert load.last_line(error).endswith("fake tensor call: AttributeError('no __round__')")


BLOCKS = """\
import torch
from torch import nn

blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))


@torch.compile(backend="eager")
def run(block, x):
    return block(x)


def forward(x):
    for _ in blocks:
        x = torch.relu(run(blocks[0], x))
    return x


def example_inputs():
    return (torch.ones(2, 4),)
"""


def test_arguments_that_require_grad_as_later_values_do(write):
    write("blocks.py", BLOCKS)
    request = ExplainRequest.parse("blocks.py:forward")
    counts = [sum(attempt(request, each).compiles.values())
              for each in (Remedy(), recompile_remedies._GRADIENTS)]  # fmt: skip
    assert counts == [2, 1]


@pytest.mark.parametrize(("file", "hints"), [("torch/optim/optimizer.py", 0), ("model.py", 1)])
def test_an_explicit_break_of_pytorch_is_no_call_to_remove(file, hints):
    hint = "Remove the `torch._dynamo.graph_break()` call."
    item = Break("called", gb_id="GB0025", location=SourceLine(file, 79), hints=(hint,))
    (tried,) = breaks.try_hints(Breaks(breaks=(item,)), {}, Canned(None)).breaks
    assert len(tried.hints) == hints


def test_a_hint_that_says_to_change_a_setting_is_tried():
    said = "Change `torch._dynamo.config.trace_autograd_ops` to `True`."
    match = breaks.SETTING.search(said)
    assert match and match["name"] == "trace_autograd_ops"
