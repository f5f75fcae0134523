"""Triton and Inductor's autotuner, as far as compiling a kernel for a target needs them.

Private names, as in `_torch_target`; seen with torch 2.11, 2.13, 2.15 (Triton 3.6, 3.7, 3.9).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock


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

    launcher = getattr(triton_heuristics, "StaticTritonCompileResult", None)
    with mock.patch.object(launcher, "can_statically_launch", return_value=None):
        return autotuner._precompile_config(config).kernel


def tool(name: str) -> Path:
    """A tool of NVIDIA's that Triton brings along: nvdisasm, cuobjdump."""
    import triton.backends.nvidia as backend

    return Path(next(iter(backend.__path__))) / "bin" / name
