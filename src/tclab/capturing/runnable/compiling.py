"""Compile a rebuilt graph where Inductor begins, for a GPU that is not there or for this CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tclab.capturing.runnable import building, chosen, constants, inputs, sizes, stages
from tclab.capturing.runnable.question import KERNELS, MACHINE, Question
from tclab.capturing.runnable.settings import setting_values
from tclab.capturing.runnable.syntax import Runnable, read_runnable
from tclab.capturing.runnable.user_kernels import registering
from tclab.capturing.target import capture, choices, inductor, tracing
from tclab.capturing.target.timing import measured, timed
from tclab.capturing.target.timing.variants import Wrappers
from tclab.errors import TclabError
from tclab.model import Chain
from tclab.targets import Target, get


@dataclass(frozen=True)
class CompiledAgain:
    """The output code of a graph, or '' if there is none, and its stages if they were asked for.
    `lacking` says why the stages end at the kernels' source although instructions were asked for.
    """

    code: str
    chain: Chain | None = None
    lacking: str = ""


def compile_again(question: Question) -> CompiledAgain:
    """Return the output code that Inductor writes for a graph. Raises Refused for a text that is
    not a runnable, TargetError for a graph whose code needs the GPU, and what Inductor raises.
    """
    runnable = read_runnable(question.runnable, question.graph)
    settings = setting_values(runnable.settings)
    answered = chosen.SETTINGS if question.chosen else frozenset()
    choices.check_settings({n: v for n, v in settings.items() if n not in answered})
    wrappers = Wrappers()
    target = get(question.target) if question.target else None
    with (
        stages.observing(question.stages) as trace,
        _compiling(target, question, wrappers),
        torch._inductor.config.patch(settings),
        _rounding(question.tf32),
        chosen.choosing_as_in(question.chosen),
        _joining(runnable.groups),
        registering(runnable.kernels, runnable.graph.launches(), building.convert_constant),
    ):
        _compile(runnable, question)
    code = wrappers[-1] if wrappers else ""
    if not question.stages or not code:
        return CompiledAgain(code)
    try:
        return CompiledAgain(code, stages.link_stages(trace, question.stages, target, wrappers))
    except TclabError as error:
        if question.stages != MACHINE:
            raise
        above = stages.link_stages(trace, KERNELS, target, wrappers)
        return CompiledAgain(code, above, f"{error.place}: {error.cause}")


@contextmanager
def _compiling(target: Target | None, question: Question, wrappers: Wrappers) -> Iterator[None]:
    with ExitStack() as stack:
        if target is not None:
            stack.enter_context(capture.compiling_for(target, wrappers, question.is_backward))
            known = measured.measurements_for(target)
            stack.enter_context(timed.answering_questions({}, known))
        else:
            stack.enter_context(inductor.stopping_after_code(wrappers))
            stack.enter_context(inductor.patching_settings(question.is_backward))
            torch.set_num_threads(question.threads)
        yield


@contextmanager
def _rounding(tf32: bool) -> Iterator[None]:
    """In the block, products of float32 may be rounded to TF32, or are not."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _joining(groups: dict[str, dict[str, int]]) -> Iterator[None]:
    """Have process groups of these names, sizes and ranks in the block, which reach no process."""
    if not groups:
        yield
        return
    from torch._dynamo.repro.after_aot import setup_fake_process_groups

    setup_fake_process_groups(groups)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def _compile(runnable: Runnable, question: Question) -> None:
    from torch._guards import TracingContext
    from torch._guards import tracing as tracing_context
    from torch._inductor.compile_fx import compile_fx_inner

    shape_env = ShapeEnv()
    mode = FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True)
    known = sizes.make_sizes(shape_env, runnable.hints, question.ranges)
    held = {name: constants.make_constant(each) for name, each in runnable.constants.items()}
    for name, tensor in held.items():
        # _tensor_constant0: "i64[2][1]cuda:0" = self._tensor_constant0
        if re.search(rf'cuda:\d+" = self\.{re.escape(name)}\b', question.graph):
            tracing.mark_for_target(tensor)
    graph = building.build_graph(runnable.graph, held)
    values = inputs.make_inputs(runnable, mode, question.symbols, known)
    for node, value in zip(graph.graph.find_nodes(op="placeholder"), values):
        node.meta["val"] = value
    inputs.propagate_inside(graph, runnable.graph, mode, known)
    _describe_outputs(graph.graph.output_node(), question)
    options: dict[str, Any] = {
        "is_backward": question.is_backward,
        "is_inference": question.is_inference,
        "static_input_idxs": tuple(question.static),
    }
    context = TracingContext(mode)
    context.fw_metadata = SimpleNamespace(bw_donated_idxs=list(question.donated))
    with tracing_context(context), torch.no_grad():
        compile_fx_inner(graph, values, **options)


def _describe_outputs(output: fx.Node, question: Question) -> None:
    """Note which outputs are the function's own results, whose strides are kept, and which are
    saved for the backward, whose numbers are rounded as the backward gets them.
    """
    from torch._functorch._aot_autograd.descriptors import SavedForBackwardsAOTOutput

    values = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    own = 0 if question.is_backward else len(values[: question.visible])
    output.meta["user_visible_output_idxs"] = [
        number for number in range(own) if isinstance(values[number], fx.Node)
    ]
    if not question.is_backward:
        saved = [SavedForBackwardsAOTOutput(number) for number in range(len(values) - own)]
        output.meta["desc"] = [*[None] * own, *saved]
