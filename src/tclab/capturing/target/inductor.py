"""Compile with Inductor for the target completely, without loading or running the code."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest import mock

import torch
from torch import fx

from tclab.capturing.fresh import python_function
from tclab.capturing.read.output_code import OutputCode
from tclab.capturing.target import choices, constants, device, errors, gaps, tracing
from tclab.capturing.target.timing.variants import GraphCompiler, Wrappers
from tclab.capturing.torch_private import compiler, graph_runs
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

Compiled = Callable[..., Any]  # the function that runs in place of a graph
Backend = Callable[[fx.GraphModule, list[Any]], Compiled]
Options = Mapping[str, Any]  # arguments of torch.compile, or settings of Inductor


@contextmanager
def stopping_after_code(wrappers: Wrappers) -> Iterator[None]:
    """Append the output code that Inductor writes within the block to `wrappers`, and do not load
    it.
    """
    from torch._inductor.codecache import PyCodeCache

    def keep(key: str, path: str, *args: object, **kwargs: object) -> types.ModuleType:
        with open(path, encoding="utf-8") as file:
            wrappers.append(file.read())
        gaps.resolve_deferred(
            has_host_code=any(d.is_cpp for d in OutputCode.parse(wrappers[-1]).definitions)
        )
        module = types.ModuleType("tclab_target_code")
        module.__file__ = path
        module.call = _raise_no_device  # type: ignore[attr-defined]
        runner = types.SimpleNamespace(call=_raise_no_device, partitions=[])
        runner.recursively_apply_fns = _record_no_graphs
        module.runner = runner  # type: ignore[attr-defined]
        return module

    with (
        mock.patch.object(PyCodeCache, "load_by_key_path", keep),
        mock.patch.object(PyCodeCache, "load", _template_module),
    ):
        yield


def _template_module(source: str, extra: str = "", **options: object) -> types.ModuleType:
    """Return an empty module in place of the module of a template's kernel (FlexAttention's), which
    Inductor loads only to time it. Inductor reads the module's `__file__` and `key`; the kernel is
    also in the output code.
    """
    from torch._inductor.codecache import PyCodeCache

    key, path = PyCodeCache.write(source, extra)
    module = types.ModuleType("tclab_target_template")
    module.__file__ = path
    module.key = key  # type: ignore[attr-defined]
    return module


def _raise_no_device(*args: object) -> NoReturn:
    raise RuntimeError(device.CANNOT_RUN)


def _record_no_graphs(functions: list[object]) -> None:
    """Do nothing in place of recording CUDA graphs, since the code does not run."""


@contextmanager
def patching_settings(backward: bool) -> Iterator[None]:
    """During the block, switch off worker processes and the caches that would hide a stage.

    With `backward`, AOTAutograd compiles the backward together with the forward.
    """
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    with ExitStack() as stack:
        inductor_settings = {
            "fx_graph_cache": False,
            "fx_graph_remote_cache": False,
            "compile_threads": 1,
        }
        stack.enter_context(inductor.patch(inductor_settings))
        autograd_settings = {
            "enable_autograd_cache": False,
            "force_non_lazy_backward_lowering": backward,
        }
        stack.enter_context(functorch.patch(autograd_settings))
        yield


class NeedsCPUFactories(Exception):
    """Raised if a graph itself moves tensors to the target. `factories` are the numbers of the
    factory calls that must make these tensors on the CPU.
    """

    def __init__(self, factories: frozenset[int]) -> None:
        super().__init__("made on the CPU and brought to the target")
        self.factories = factories


def make_backend(
    patches: Options,
    graph_compiler: GraphCompiler,
    cpu_factories: frozenset[int] | None,
    trace: Trace,
) -> Backend:
    """Make a Dynamo backend that compiles each graph for the target and runs it on the CPU.

    A refused graph becomes a gap, and the other graphs are still compiled. The backend raises
    NeedsCPUFactories if a graph moves a tensor to the target whose factory is not in
    `cpu_factories`. If `cpu_factories` is None, the backend never raises this error.
    """

    def compile_graph(module: fx.GraphModule, inputs: list[Any]) -> Compiled:
        from torch._inductor.compile_fx import compile_fx

        moved = tracing.find_factories_moved_to_target(module)
        if cpu_factories is not None and not moved <= cpu_factories:
            raise NeedsCPUFactories(cpu_factories | moved)
        cpu_graph = tracing.copy_for_cpu(module)
        with errors.noting_refusals_as_gaps():
            choices.check_dynamo_graph(module)
            constants.move_constants_to_target(module)
            fakes = tracing.fake_inputs(module, inputs)
            with constants.making_constants_on_target():
                graph_compiler.compile(
                    lambda: compile_fx(
                        tracing.copy_graph_module(module), list(fakes), config_patches=patches
                    )
                )
        return (
            _raise_no_result
            if calls_triton(module) or calls_gpu_operator(module)
            else _note_runs(_mark_dynamic_results(_cpu_runner(cpu_graph), module), trace)
        )

    return compile_graph


def map_tensors(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """Apply `function` to each tensor of a tree of tuples, lists and dictionaries."""
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, function, tree)


class NoResult(Exception):
    """Raised by a graph that cannot run here, because it calls a kernel that only the GPU has."""


def _cpu_runner(module: fx.GraphModule) -> Compiled:
    """Make a function that runs a graph on the CPU, and raises NoResult if a kernel is missing."""

    def run(*args: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
                return module(*args)
        except NotImplementedError as error:
            raise NoResult from error

    return run


def _mark_dynamic_results(run: Compiled, module: fx.GraphModule) -> Compiled:
    """Make a function that marks the dynamic dimensions of a graph's results as the compiled code
    does on the GPU. For such a result Dynamo compiles the next graph with symbols from the start.
    """
    from torch._functorch._aot_autograd import runtime_wrappers
    from torch.fx.experimental.symbolic_shapes import is_concrete_int

    mark: Any = getattr(
        runtime_wrappers,
        "mark_dynamo_propagated_dynamic_indices",
        getattr(runtime_wrappers, "maybe_mark_dynamic_helper", None),  # before 2.13
    )
    values = [node.meta.get("example_value") for node in module.graph.output_node().args[0]]
    dynamic = [
        {i for i, size in enumerate(value.shape) if not is_concrete_int(size)}
        if isinstance(value, torch.Tensor)
        else set()
        for value in values
    ]

    def marking(*args: Any) -> Any:
        results = run(*args)
        for result, dimensions in zip(results, dynamic, strict=True):
            if dimensions:
                mark(result, dimensions)
        return results

    return marking


def _note_runs(run: Compiled, trace: Trace) -> Compiled:
    """Make a function that also notes each run of the graph being compiled."""
    ids = compiler.current_compile_ids()

    def noting(*args: Any) -> Any:
        trace.add(names.RUN, graph_runs.list_sizes(args), "", ids)
        return run(*args)

    return noting


def _raise_no_result(*args: object) -> NoReturn:
    raise NoResult


def calls_triton(module: fx.GraphModule) -> bool:
    """Return whether a Dynamo graph launches a Triton kernel of the user's."""
    return any("triton_kernel_wrapper" in str(node.target) for node in module.graph.nodes)


def calls_gpu_operator(module: fx.GraphModule) -> bool:
    """Return whether a Dynamo graph calls, by name, an operator without a kernel for the CPU."""
    operators = {n.target for n in module.graph.nodes if isinstance(n.target, _OPERATORS)}
    return any(not _runs_on_cpu(str(operator)) for operator in operators)


_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


def _runs_on_cpu(operator: str) -> bool:
    """Return whether an operator, such as ``aten.relu.default`` or ``aten.relu``, has a kernel for
    the CPU.
    """
    namespace, _, rest = operator.partition(".")
    name = f"{namespace}::{rest.removesuffix('.default')}"
    return bool(torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"))


def calls_backward(fn: object) -> bool:
    """Return whether a function itself calls ``backward`` or ``grad``, as a training step does."""
    code = getattr(python_function(fn), "__code__", None)
    return code is not None and bool({"backward", "grad"} & _names_used(code))


def _names_used(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*(_names_used(c) for c in inner))


def config_patches(options: Options) -> Options:
    """Return Inductor's settings for `mode` and `options` of torch.compile."""
    patches: dict[str, object] = {}
    if mode := options.get("mode"):
        patches |= torch._inductor.list_mode_options(mode, options.get("dynamic"))
    return patches | {k.replace("-", "_"): v for k, v in (options.get("options") or {}).items()}
