"""Inductor for the target: the real compile, stopped before anything is loaded or run."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import fx

from tclab.stages import target_choices, target_constants, target_trace


class Wrappers(list[str]):
    """The wrapper code of each graph Inductor compiled, in order."""


@contextmanager
def stop_after_code(wrappers: Wrappers) -> Iterator[None]:
    """Let Inductor write its code, keep it, and load none of it."""
    from torch._inductor.codecache import PyCodeCache

    def keep(key: str, path: str, *args: Any, **kwargs: Any) -> types.ModuleType:
        with open(path, encoding="utf-8") as file:
            wrappers.append(file.read())
        module = types.ModuleType("tclab_target_code")
        module.__file__ = path
        module.call = _no_device  # type: ignore[attr-defined]
        return module

    with mock.patch.object(PyCodeCache, "load_by_key_path", keep):
        yield


def _no_device(*args: Any) -> Any:
    raise RuntimeError("code for a target cannot run here")


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


def backend(patches: dict[str, Any]) -> Callable[..., Any]:
    """A Dynamo backend: compiles each graph for the target, and runs it on the CPU."""

    def compile_graph(module: fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        from torch._inductor.compile_fx import compile_fx

        target_choices.check_dynamo_graph(module)
        plain = target_trace.on_cpu(module)
        target_constants.constants_on_target(module)
        compile_fx(module, target_trace.fake_inputs(module, inputs), config_patches=patches)
        return plain.forward

    return compile_graph


def config_patches(options: dict[str, Any]) -> dict[str, Any]:
    """Inductor's settings for `mode` and `options` of torch.compile."""
    patches = {}
    if mode := options.get("mode"):
        patches |= torch._inductor.list_mode_options(mode, options.get("dynamic"))
    return patches | {k.replace("-", "_"): v for k, v in (options.get("options") or {}).items()}
