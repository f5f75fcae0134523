"""Make PyTorch and Triton see a GPU that is not there.

`standing_in` makes PyTorch and Triton see the named GPU for the length of a block, and puts
everything back, also after an error. Nothing of a real GPU is touched meanwhile.
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
from tclab.capturing.torch_private import device_guards
from tclab.targets import Target

Cached: TypeAlias = "functools._lru_cache_wrapper[Any]"
Gradients = tuple[torch.Tensor | None, ...]

# ------------------------------------------------------------------------------ standing in


@contextmanager
def standing_in(target: Target) -> Iterator[None]:
    """Let PyTorch and Triton see `target` as ``cuda:0``; everything is put back at the end."""
    cuda = device.cuda(target)
    with ExitStack() as stack:
        stack.callback(clear_device_caches)
        for name, function in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, function))
        allocator = "_cuda_cudaCachingAllocator_is_enabled"  # cudagraph_utils asks; not on the CPU
        there = mock.Mock(return_value=True)
        stack.enter_context(mock.patch.object(torch._C, allocator, there, create=True))
        stack.enter_context(_device_interfaces(device.interface(cuda)))
        stack.enter_context(_triton_driver(target))
        stack.enter_context(mock.patch("torch.autograd._engine_run_backward", _engine))
        stack.enter_context(_without_device_init())
        stack.enter_context(_device_guard())
        stack.enter_context(_dispatched_as_on_cuda())
        stack.enter_context(patterns.kept_apart())
        clear_device_caches()
        yield


@torch._dynamo.disable  # code between two graphs may call it, and must not be compiled with it
def _engine(outputs: Any, gradients: Any, *rest: Any, **options: Any) -> Gradients:
    """The engine in Python for tensors of the target, PyTorch's own for all others."""
    there = any(getattr(getattr(o, "device", None), "type", "") == "cuda" for o in outputs)
    run = autograd.run_backward if there else torch.autograd.graph._engine_run_backward
    return run(outputs, gradients, *rest, **options)


@contextmanager
def _device_interfaces(interface: type) -> Iterator[None]:
    from torch._dynamo import device_interface as module

    module.get_interface_for_device("cpu")  # registers the usual ones, once
    own = {"cuda": interface, "cuda:0": interface}
    with (
        mock.patch.dict(module.device_interfaces, own),
        mock.patch.dict(module.caching_worker_device_properties),
        mock.patch.dict(module.caching_worker_current_devices),
    ):
        module.caching_worker_device_properties.pop("cuda", None)
        module.caching_worker_current_devices.pop("cuda", None)
        yield


@contextmanager
def _without_device_init() -> Iterator[None]:
    """Fake tensors must not start CUDA, although it seems to be available."""
    from torch._subclasses import fake_tensor

    with (
        mock.patch.object(fake_tensor.FakeTensorMode, "avoid_device_init", True),
        mock.patch.object(fake_tensor, "init_gpu_context", mock.Mock()),
    ):
        yield


#: Composite operators that have a kernel of their own on CUDA, so that autograd and Inductor see
#: them whole. All there are in the CUDA builds of 2.11, 2.13 and 2.15: those for which
#: _dispatch_has_kernel_for_dispatch_key holds for both CompositeImplicitAutograd and CUDA.
_WHOLE_ON_CUDA = ("_fused_rms_norm", "mish_backward", "silu_backward")


@contextmanager
def _dispatched_as_on_cuda() -> Iterator[None]:
    """In a PyTorch built without CUDA, the dispatcher takes these apart; a kernel that is never
    run (fake tensors do not) makes it treat them as a CUDA build does.
    """
    library = torch.library.Library("aten", "IMPL")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    try:
        for name in _WHOLE_ON_CUDA:
            if not has(f"aten::{name}", "CUDA"):
                library.impl(name, _never, "CUDA")
        _forget_dispatch()
        yield
    finally:
        library._destroy()
        _forget_dispatch()


def _never(*args: object, **kwargs: object) -> NoReturn:
    raise NotImplementedError("not compiled with CUDA")


def _forget_dispatch() -> None:
    for name in _WHOLE_ON_CUDA:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            getattr(packet, overload)._dispatch_cache.clear()


@contextmanager
def _device_guard() -> Iterator[None]:
    """A guard for CUDA devices that does nothing, in a PyTorch built without CUDA.

    PyTorch sets one itself (_ensureCUDADeviceGuardSet), but only over a guard that counts no
    devices, and a CPU build has none at all. So one that counts none stands there first.
    """
    slots = device_guards.slots()
    before = slots[device_guards.CUDA]
    count_none = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    methods = (ctypes.c_void_p * 64)(*[ctypes.cast(count_none, ctypes.c_void_p).value] * 64)
    guard = (ctypes.c_void_p * 2)(ctypes.addressof(methods), 0)
    if not before:
        slots[device_guards.CUDA] = ctypes.addressof(guard)
    try:
        torch._C._ensureCUDADeviceGuardSet()
        yield
    finally:
        slots[device_guards.CUDA] = before


def _nothing(self: object) -> None:
    pass


@contextmanager
def _triton_driver(target: Target) -> Iterator[None]:
    """The target's driver is the active one, and the only one a kernel's source can activate."""
    from triton.backends import backends
    from triton.runtime import driver as config

    driver = device.Driver(target)
    nvidia = backends["nvidia"]
    own = type(
        "TargetDriver",
        (device.Driver,),
        {"__new__": lambda cls: driver, "__init__": _nothing},
    )
    before = config._active
    config.set_active(driver)
    try:
        with mock.patch.dict(backends, nvidia=dataclasses.replace(nvidia, driver=own)):
            yield
    finally:
        config._active = before


#: Modules whose cached functions may remember a device.
_CACHED = ("torch.utils._triton", "torch._inductor", "torch._dynamo.device_interface")


def device_caches() -> dict[str, Cached]:
    """The cached functions that may remember a device, by dotted name."""
    caches: dict[int, tuple[str, Cached]] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(_CACHED) and module is not None and "cpp" not in name.split(".")[-1]:
            for key, value in list(_cached_in(module)):
                caches.setdefault(id(value), (f"{name}.{key}", value))
    from torch._inductor.runtime.hints import DeviceProperties

    create = DeviceProperties.create.__func__
    caches[id(create)] = ("torch._inductor.runtime.hints.DeviceProperties.create", create)
    return dict(caches.values())


def _cached_in(module: ModuleType) -> Iterator[tuple[str, Cached]]:
    for key, value in vars(module).items():
        if not isinstance(value, functools._lru_cache_wrapper):
            continue
        neutral = value.__name__ in patterns.NEUTRAL
        if not neutral and value.__module__ != "torch._inductor.cpp_builder":
            yield key, value


def clear_device_caches() -> None:
    """Forget what was cached about the device, so that it is asked again."""
    for cached in device_caches().values():
        cached.cache_clear()
    from torch._inductor.codecache import CacheBase

    CacheBase.get_system.cache_clear()
    CacheBase.get_local_cache_path.cache_clear()
