"""Triton and Inductor's autotuner, as far as compiling a kernel for a target needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import TRITON, Private

#: Only looked at for a target, or where there is a GPU: importing what they name takes Triton.
NAMES = (
    Private("torch._inductor.codecache", "PyCodeCache.write", "a kernel's file"),
    Private("torch._inductor.runtime.autotune_cache", "AutotuneCache.create", "what was timed"),
    Private("torch._inductor.runtime.compile_tasks", "_reload_python_module", "a new autotuner"),
    Private(
        "torch._inductor.runtime.triton_heuristics",
        "CachingAutotuner._precompile_config",
        "compiles a kernel",
    ),
    Private(
        "torch._inductor.runtime.triton_heuristics",
        "StaticTritonCompileResult.can_statically_launch",
        "a kernel is not loaded",
    ),
    Private("triton.backends.nvidia", "__path__", "where NVIDIA's tools lie", TRITON),
)


def build(name: str, source: str) -> Any:
    """The CachingAutotuner a kernel's source makes; nothing is compiled yet.

    Always a new one: Inductor's own, which `PyCodeCache.load` would find, forgets its
    configurations once it has compiled them. And without the cache of what was timed before:
    it would leave one configuration, chosen by a GPU.
    """
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.runtime.autotune_cache import AutotuneCache
    from torch._inductor.runtime.compile_tasks import _reload_python_module

    key, path = PyCodeCache.write(source)
    with mock.patch.object(AutotuneCache, "create", return_value=None):
        return getattr(_reload_python_module(key, path, set_sys_modules=False), name)


def compile_config(autotuner: Any, config: Any) -> Any:
    """The kernel as Inductor compiles it (CachingAutotuner._precompile_config), kept off the
    static launcher, which would load the binary."""  # noqa: D209
    from torch._inductor.runtime import triton_heuristics

    launcher = triton_heuristics.StaticTritonCompileResult
    with mock.patch.object(launcher, "can_statically_launch", return_value=None):
        return autotuner._precompile_config(config).kernel


def tool(name: str) -> Path:
    """A tool of NVIDIA's that Triton brings along: nvdisasm, cuobjdump."""
    import triton.backends.nvidia as backend

    return Path(next(iter(backend.__path__))) / "bin" / name
