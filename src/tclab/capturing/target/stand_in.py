"""Make PyTorch and Triton see a GPU that is not there.

`fake_gpu` patches the functions that ask about the GPU during a block, and restores them at the
end, also after an error. A real GPU of this machine is not used during the block.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, NoReturn, TypeAlias
from unittest import mock

import torch

from tclab.capturing.target import autograd, device, patterns
from tclab.capturing.target.refusals import remember_errors
from tclab.capturing.torch_private import device_guards
from tclab.targets import Target, TargetError

Cached: TypeAlias = "functools._lru_cache_wrapper[Any]"
Gradients = tuple[torch.Tensor | None, ...]


@contextmanager
def fake_gpu(target: Target) -> Iterator[None]:
    """Let PyTorch and Triton see `target` as ``cuda:0`` during the block."""
    cuda = device.cuda_functions(target)
    with ExitStack() as stack:
        stack.callback(clear_device_caches)
        for name, function in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, function))
        # cudagraph_utils calls this function, which a CPU build lacks
        allocator = "_cuda_cudaCachingAllocator_is_enabled"
        enabled = mock.Mock(return_value=True)
        stack.enter_context(mock.patch.object(torch._C, allocator, enabled, create=True))
        stack.enter_context(_patching_device_interfaces(device.make_device_interface(cuda)))
        stack.enter_context(_activating_triton_driver(target))
        stack.enter_context(mock.patch("torch.autograd._engine_run_backward", _backward_engine))
        refuse = torch.compiler.disable(remember_errors(_refuse_jiterator))
        stack.enter_context(mock.patch("torch.cuda.jiterator._JittedFunction.__call__", refuse))
        stack.enter_context(_preventing_device_init())
        stack.enter_context(_installing_device_guard())
        stack.enter_context(_dispatching_as_on_cuda())
        stack.enter_context(patterns.using_target_patterns())
        clear_device_caches()
        yield


@torch._dynamo.disable  # code between two graphs may call it, but Dynamo must not compile it
def _backward_engine(outputs: Any, gradients: Any, *rest: Any, **options: Any) -> Gradients:
    """Run autograd's engine in Python if an output or an input is on the target, else PyTorch's
    own engine. An output may have been moved to the CPU.
    """
    inputs = rest[2] if len(rest) > 2 else ()
    on_target = any(_is_on_target(each) for each in (*outputs, *inputs))
    run = autograd.run_backward if on_target else torch.autograd.graph._engine_run_backward
    return run(outputs, gradients, *rest, **options)


def _is_on_target(tensor: Any) -> bool:
    return getattr(getattr(tensor, "device", None), "type", "") == "cuda"


def _refuse_jiterator(*tensors: object, **numbers: object) -> NoReturn:
    raise TargetError(
        "torch.cuda.jiterator",
        "CUDA compiles the kernel's text on the GPU itself, without Inductor",
        "write it with PyTorch's operators or in Triton, or capture on the GPU",
    )


@contextmanager
def _patching_device_interfaces(interface: type) -> Iterator[None]:
    from torch._dynamo import device_interface as module

    module.get_interface_for_device("cpu")  # this call registers PyTorch's own interfaces, once
    interfaces = {"cuda": interface, "cuda:0": interface}
    with (
        mock.patch.dict(module.device_interfaces, interfaces),
        mock.patch.dict(module.caching_worker_device_properties),
        mock.patch.dict(module.caching_worker_current_devices),
    ):
        module.caching_worker_device_properties.pop("cuda", None)
        module.caching_worker_current_devices.pop("cuda", None)
        yield


@contextmanager
def _preventing_device_init() -> Iterator[None]:
    """Keep fake tensors from initializing CUDA, which seems to be available."""
    from torch._subclasses import fake_tensor

    with (
        mock.patch.object(fake_tensor.FakeTensorMode, "avoid_device_init", True),
        mock.patch.object(fake_tensor, "init_gpu_context", mock.Mock()),
    ):
        yield


#: Composite operators that have their own kernel on CUDA, so that autograd and Inductor do not see
#: them decomposed there. The list has every operator in the CUDA builds of 2.11, 2.13 and 2.15 for
#: which _dispatch_has_kernel_for_dispatch_key is true for both CompositeImplicitAutograd and CUDA.
_WHOLE_ON_CUDA = ("_fused_rms_norm", "mish_backward", "silu_backward")


@contextmanager
def _dispatching_as_on_cuda() -> Iterator[None]:
    """Stop the dispatcher from decomposing the operators in `_WHOLE_ON_CUDA` in a PyTorch built
    without CUDA. A placeholder kernel suffices, because fake tensors do not run it.
    """
    library = torch.library.Library("aten", "IMPL")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    try:
        for name in _WHOLE_ON_CUDA:
            if not has_kernel(f"aten::{name}", "CUDA"):
                library.impl(name, _raise_no_kernel, "CUDA")
        _clear_dispatch_caches()
        yield
    finally:
        library._destroy()
        _clear_dispatch_caches()


def _raise_no_kernel(*args: object, **kwargs: object) -> NoReturn:
    raise NotImplementedError("not compiled with CUDA")


def _clear_dispatch_caches() -> None:
    for name in _WHOLE_ON_CUDA:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            getattr(packet, overload)._dispatch_cache.clear()


@contextmanager
def _installing_device_guard() -> Iterator[None]:
    """Install a device guard for CUDA that does nothing, in a PyTorch built without CUDA.

    PyTorch's own function for this (_ensureCUDADeviceGuardSet) only replaces an existing guard that
    reports no devices, and a CPU build has no guard. So a guard that reports no devices is
    installed first.
    """
    slots = device_guards.guard_slots()
    saved = slots[device_guards.CUDA]
    count_none = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    methods = (ctypes.c_void_p * 64)(*[ctypes.cast(count_none, ctypes.c_void_p).value] * 64)
    guard = (ctypes.c_void_p * 2)(ctypes.addressof(methods), 0)
    if not saved:
        slots[device_guards.CUDA] = ctypes.addressof(guard)
    try:
        torch._C._ensureCUDADeviceGuardSet()
        yield
    finally:
        slots[device_guards.CUDA] = saved


def _do_nothing(self: object) -> None:
    pass


@contextmanager
def _activating_triton_driver(target: Target) -> Iterator[None]:
    """Make the target's driver Triton's active driver, and the only one that Triton can
    activate.
    """
    from triton.backends import backends
    from triton.runtime import driver as config

    driver = device.Driver(target)
    vendor = "amd" if target.gfx else "nvidia"
    backend = backends[vendor]
    driver_class = type(
        "TargetDriver",
        (device.Driver,),
        {"__new__": lambda cls: driver, "__init__": _do_nothing},
    )
    saved = config._active
    config.set_active(driver)
    try:
        replaced = {vendor: dataclasses.replace(backend, driver=driver_class)}
        with mock.patch.dict(backends, replaced):
            yield
    finally:
        config._active = saved


#: Prefixes of the modules whose cached functions may remember a device.
_MODULES_WITH_CACHES = ("torch.utils._triton", "torch._inductor", "torch._dynamo.device_interface")


def device_caches() -> dict[str, Cached]:
    """Return the cached functions that may remember a device, by dotted name."""
    caches: dict[int, tuple[str, Cached]] = {}
    for name, module in list(sys.modules.items()):
        if (
            name.startswith(_MODULES_WITH_CACHES)
            and module is not None
            and "cpp" not in name.split(".")[-1]
        ):
            for key, value in list(_cached_functions(module)):
                caches.setdefault(id(value), (f"{name}.{key}", value))
    from torch._inductor.runtime.hints import DeviceProperties

    create = DeviceProperties.create.__func__
    caches[id(create)] = ("torch._inductor.runtime.hints.DeviceProperties.create", create)
    return dict(caches.values())


def _cached_functions(module: ModuleType) -> Iterator[tuple[str, Cached]]:
    for key, value in vars(module).items():
        if not isinstance(value, functools._lru_cache_wrapper):
            continue
        device_independent = value.__name__ in patterns.DEVICE_INDEPENDENT
        if not device_independent and value.__module__ != "torch._inductor.cpp_builder":
            yield key, value


def clear_device_caches() -> None:
    """Clear the caches that may remember a device."""
    for cached in device_caches().values():
        cached.cache_clear()
    from torch._inductor.codecache import CacheBase

    CacheBase.get_system.cache_clear()
    CacheBase.get_local_cache_path.cache_clear()
