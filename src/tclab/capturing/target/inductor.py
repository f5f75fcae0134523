"""Inductor for the target: the real compile, stopped before anything is loaded or run."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest import mock

import torch
from torch import fx

from tclab.capturing.fresh import function_of
from tclab.capturing.read.output_code import OutputCode
from tclab.capturing.target import choices, constants, device, errors, gaps, tracing
from tclab.capturing.target.timing.ways import Ways, Wrappers

Compiled = Callable[..., Any]  # what runs in the place of a graph
Backend = Callable[[fx.GraphModule, list[Any]], Compiled]
Options = Mapping[str, Any]  # of torch.compile, or settings of Inductor


@contextmanager
def stop_after_code(wrappers: Wrappers) -> Iterator[None]:
    """Let Inductor write its code, keep it, and load none of it."""
    from torch._inductor.codecache import PyCodeCache

    def keep(key: str, path: str, *args: object, **kwargs: object) -> types.ModuleType:
        with open(path, encoding="utf-8") as file:
            wrappers.append(file.read())
        gaps.settle(there=any(each.is_cpp for each in OutputCode.read(wrappers[-1]).definitions))
        module = types.ModuleType("tclab_target_code")
        module.__file__ = path
        module.call = _no_device  # type: ignore[attr-defined]
        runner = types.SimpleNamespace(call=_no_device, partitions=[])
        runner.recursively_apply_fns = _no_graphs
        module.runner = runner  # type: ignore[attr-defined]
        return module

    with (
        mock.patch.object(PyCodeCache, "load_by_key_path", keep),
        mock.patch.object(PyCodeCache, "load", _template),
    ):
        yield


def _template(source: str, extra: str = "", **options: object) -> types.ModuleType:
    """The module of a template's kernel (FlexAttention's), which Inductor would time; the graph's
    output code has it again. Of it only the file's place and key are asked.
    """
    from torch._inductor.codecache import PyCodeCache

    key, path = PyCodeCache.write(source, extra)
    module = types.ModuleType("tclab_target_template")
    module.__file__ = path
    module.key = key  # type: ignore[attr-defined]
    return module


def _no_device(*args: object) -> NoReturn:
    raise RuntimeError(device.CANNOT_RUN)


def _no_graphs(functions: list[object]) -> None:
    """CUDA graphs are recorded when the code runs, which it does not."""


@contextmanager
def settings(backward: bool) -> Iterator[None]:
    """No caches that would hide a stage, no worker processes, the backward compiled at once."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    with ExitStack() as stack:
        off = {"fx_graph_cache": False, "fx_graph_remote_cache": False, "compile_threads": 1}
        stack.enter_context(inductor.patch(off))
        own = {"enable_autograd_cache": False, "force_non_lazy_backward_lowering": backward}
        stack.enter_context(functorch.patch(own))
        yield


class MadeOnCPU(Exception):
    """A graph brings to the target what `factories` make: they are to stay on the CPU."""

    def __init__(self, factories: frozenset[int]) -> None:
        super().__init__("made on the CPU and brought to the target")
        self.factories = factories


def backend(patches: Options, ways: Ways, stay: frozenset[int] | None) -> Backend:
    """A Dynamo backend: compiles each graph for the target, and runs it on the CPU. A graph that
    is refused is a gap; the others are compiled all the same. MadeOnCPU for factories that are not
    in `stay`, unless that is None.
    """

    def compile_graph(module: fx.GraphModule, inputs: list[Any]) -> Compiled:
        from torch._inductor.compile_fx import compile_fx

        made = tracing.moved_to_target(module)
        if stay is not None and not made <= stay:
            raise MadeOnCPU(stay | made)
        plain = tracing.on_cpu(module)
        with errors.gap_noted():
            choices.check_dynamo_graph(module)
            constants.constants_on_target(module)
            fakes = tracing.fake_inputs(module, inputs)
            ways.compile(
                lambda: compile_fx(tracing.copied(module), list(fakes), config_patches=patches)
            )
        return _no_result if calls_triton(module) or calls_device(module) else _on_cpu(plain)

    return compile_graph


def map_tensors(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """The tree with `function` of each tensor in its place."""
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, function, tree)


class NoResult(Exception):
    """A graph that was compiled and cannot run here: it calls what only the GPU has."""


def _on_cpu(module: fx.GraphModule) -> Compiled:
    """Runs a graph that was traced as on the GPU, where the CPU has all its kernels."""

    def run(*args: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
                return module(*args)
        except NotImplementedError as error:
            raise NoResult from error

    return run


def _no_result(*args: object) -> NoReturn:
    raise NoResult


def calls_triton(module: fx.GraphModule) -> bool:
    """Whether a Dynamo graph launches a Triton kernel of the user's."""
    return any("triton_kernel_wrapper" in str(node.target) for node in module.graph.nodes)


def calls_device(module: fx.GraphModule) -> bool:
    """Whether a Dynamo graph calls an operator by name that the CPU does not have."""
    operators = {n.target for n in module.graph.nodes if isinstance(n.target, _OPERATORS)}
    return any(not _runs_on_cpu(str(operator)) for operator in operators)


_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


def _runs_on_cpu(operator: str) -> bool:
    """By its name, ``aten.relu.default`` or ``aten.relu``."""
    namespace, _, rest = operator.partition(".")
    name = f"{namespace}::{rest.removesuffix('.default')}"
    return bool(torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"))


def calls_backward(fn: object) -> bool:
    """Whether the function itself differentiates, as a training step does."""
    code = getattr(function_of(fn), "__code__", None)
    return code is not None and bool({"backward", "grad"} & _names(code))


def _names(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*(_names(c) for c in inner))


def config_patches(options: Options) -> Options:
    """Inductor's settings for `mode` and `options` of torch.compile."""
    patches: dict[str, object] = {}
    if mode := options.get("mode"):
        patches |= torch._inductor.list_mode_options(mode, options.get("dynamic"))
    return patches | {k.replace("-", "_"): v for k, v in (options.get("options") or {}).items()}
