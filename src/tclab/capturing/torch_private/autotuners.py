"""Compile a kernel for a target with Inductor's autotuner and Triton."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import TRITON, Private

#: Checked only for a target or on a machine with a GPU: importing these modules needs Triton.
NAMES = (
    Private("torch._inductor.codecache", "PyCodeCache.write", "a kernel's file"),
    Private("torch._inductor.runtime.autotune_cache", "AutotuneCache.create", "what was timed"),
    Private("torch._inductor.runtime.compile_tasks", "_reload_python_module", "a new autotuner"),
    Private(
        "torch._inductor.runtime.compile_tasks", "_set_triton_ptxas_path", "PyTorch's own ptxas"
    ),
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
    Private("torch._inductor.runtime", "triton_helpers", "what a kernel may call"),
    Private("triton.runtime", "JITFunction", "what a kernel may call", TRITON),
    Private("triton.runtime", "JITFunction.parse", "the text that is compiled", TRITON),
    Private("triton.backends.nvidia", "__path__", "where NVIDIA's tools lie", TRITON),
)


def build_autotuner(name: str, source: str) -> Any:
    """Build a new CachingAutotuner from a kernel's source, without compiling.

    `PyCodeCache.load` would return Inductor's own autotuner, which drops its configurations once it
    has compiled them. The autotune cache is off, because a hit leaves only one configuration, which
    was the fastest on some GPU.
    """
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.runtime.autotune_cache import AutotuneCache
    from torch._inductor.runtime.compile_tasks import _reload_python_module

    key, path = PyCodeCache.write(source)
    with mock.patch.object(AutotuneCache, "create", return_value=None):
        return getattr(_reload_python_module(key, path, set_sys_modules=False), name)


def compile_config(autotuner: Any, config: Any) -> Any:
    """Compile a kernel as Inductor does (CachingAutotuner._precompile_config), with the ptxas that
    a CUDA build of PyTorch may bring, and without the static launcher, which would load the binary.
    """
    from torch._inductor.runtime import compile_tasks, triton_heuristics

    compile_tasks._set_triton_ptxas_path()
    launcher = triton_heuristics.StaticTritonCompileResult
    with mock.patch.object(launcher, "can_statically_launch", return_value=None):
        return autotuner._precompile_config(config).kernel


def parse_function(autotuner: Any, name: str) -> ast.Module:
    """Return a function of a kernel's module as Triton parses it. Raises KeyError if the module has
    no such function, and AssertionError or SyntaxError if Triton finds no text of one function.
    """
    kernel = autotuner.fn
    parsed: ast.Module = (kernel if name == kernel.__name__ else kernel.__globals__[name]).parse()
    return parsed


def argument_types(autotuner: Any) -> Sequence[object]:
    """Return the types of a kernel's arguments, which Triton evaluates."""
    return list(autotuner.triton_meta["signature"].values())


def device_type_and_capability(autotuner: Any) -> tuple[object, object]:
    """Return the type and the compute capability of the device for which a kernel is compiled."""
    return autotuner.device_props.type, autotuner.device_props.cc


def operation_modules() -> dict[str, Any]:
    """Return the modules whose operations Inductor's kernels call, by their names in a kernel."""
    import triton.language
    from torch._inductor.runtime import triton_helpers

    return {
        "tl": triton.language,
        "triton_helpers": triton_helpers,
        "libdevice": triton_helpers.libdevice,
        "tl_math": triton_helpers.math,
    }


def is_operation(value: object) -> bool:
    """Return whether a value is an operation or a type of Triton's."""
    from triton.language import constexpr, core, dtype
    from triton.runtime import JITFunction

    if isinstance(value, (JITFunction, dtype)) or core.is_builtin(value):
        return True
    # stubs, which Triton replaces by operations of the GPU's own library
    if getattr(value, "__module__", "") == "triton.language.extra.libdevice":
        return True
    return any(value is each for each in (constexpr, core.range, core.static_range))


def tool_path(name: str) -> Path:
    """Return the path of an NVIDIA tool in Triton's package: nvdisasm or cuobjdump."""
    import triton.backends.nvidia as backend

    return Path(next(iter(backend.__path__))) / "bin" / name
