"""Every private name that targets rely on, with the versions each one is known to hold for.

`standing_in` makes PyTorch and Triton see the named GPU for the length of a block, and puts
everything back, also after an error. Nothing of a real GPU is touched meanwhile.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

from tclab.errors import UnsupportedTorch
from tclab.stages import _torch_patterns, target_autograd
from tclab.stages._private import Private, gone
from tclab.targets import Target

NAMES = (
    Private("torch._guards", "TracingContext.extract_stack", "the line of a refusal"),
    Private("torch.autograd", "_engine_run_backward", "the engine behind autograd.grad"),
    Private("torch._dynamo.device_interface", "device_interfaces", "what Inductor asks of a GPU"),
    Private("torch._dynamo.device_interface", "caching_worker_device_properties", "cached answers"),
    Private("torch._dynamo.output_graph", "SubgraphTracer.create_proxy", "factory functions"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.from_tensor", "inputs become fake"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.avoid_device_init", "no CUDA start"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.dispatch", "constants"),
    Private("torch._inductor.graph", "GraphLowering.get_attr", "constants"),
    Private("torch._inductor.graph", "GraphLowering.run", "operators are looked at"),
    Private("torch._inductor.fx_passes.joint_graph", "UniformValueConstantFolder.run", "folding"),
    Private("torch._inductor.fx_passes.pad_mm", "_should_pad", "padding is timed"),
    Private("torch._inductor.fx_passes.fuse_attention", "_scaled_dot_product_attention", "fusing"),
    Private("torch._inductor.runtime.benchmarking", "Benchmarker", "nothing is timed"),
    Private("torch._subclasses.fake_tensor", "init_gpu_context", "no CUDA start"),
    Private("torch._subclasses.meta_utils", "MetaTensorDescriber.describe_tensor", "their device"),
    Private("torch.utils._device", "_device_constructors", "functions that make tensors"),
    Private("torch._inductor.codecache", "PyCodeCache.load_by_key_path", "stop before running"),
    Private("torch._inductor.codecache", "PyCodeCache.write", "a kernel's file"),
    Private("torch._inductor.runtime.compile_tasks", "_reload_python_module", "a new autotuner"),
    Private("torch._inductor.pattern_matcher", "init_once_fakemode", "lazily made patterns"),
    Private("torch._inductor.pattern_matcher", "PatternMatcherPass", "lazily made patterns"),
    Private("torch._inductor.runtime.hints", "DeviceProperties.create", "cached properties"),
    Private("triton.runtime", "driver.set_active", "the driver Triton asks", "triton 3.6 3.7 3.9"),
)


def check() -> list[str]:
    """What of PyTorch or Triton is not as this module knows it; empty if all is well."""
    return gone(NAMES) + _guard_problems()


def _guard_problems() -> list[str]:
    try:
        found = bool(_guard_slots()[0])  # the CPU's
    except (OSError, ValueError):
        found = False
    return [] if found else ["libc10's table of device guards is gone (seen in 2.11 2.13 2.15)"]


def require() -> None:
    """Raise UnsupportedTorch, naming everything that moved, unless `check` finds nothing."""
    if problems := check():
        raise UnsupportedTorch(
            "tclab.capture(target=…)", "; ".join(problems),
            "use a supported torch with its Triton, or adapt tclab/stages/_torch_target.py",
        )  # fmt: skip


# ------------------------------------------------------------------------------ the device


def properties(target: Target) -> SimpleNamespace:
    """What ``torch.cuda.get_device_properties`` answers on the target."""
    a = target.architecture
    return SimpleNamespace(
        name=target.device,
        major=a.capability[0],
        minor=a.capability[1],
        multi_processor_count=target.sm_count,
        total_memory=target.memory_bytes,
        max_threads_per_multi_processor=a.max_threads_per_sm,
        max_threads_per_block=a.max_threads_per_block,
        regs_per_multiprocessor=a.registers_per_sm,
        warp_size=a.warp_size,
        shared_memory_per_block=a.shared_memory_per_block,
        shared_memory_per_block_optin=a.shared_memory_per_block_optin,
        shared_memory_per_multiprocessor=a.shared_memory_per_sm,
        L2_cache_size=target.l2_bytes,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName=target.device,
    )


def _cuda(target: Target) -> dict[str, Any]:
    """Stand-ins for functions of ``torch.cuda``."""
    props = properties(target)
    cpu_state = torch.get_rng_state
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "get_device_properties": lambda device=None: props,
        "get_device_capability": lambda device=None: target.capability,
        "get_device_name": lambda device=None: target.device,
        "is_bf16_supported": lambda including_emulation=True: target.capability >= (8, 0),
        "get_rng_state": lambda device="cuda": cpu_state(),
        "set_rng_state": lambda state, device="cuda": None,
        "synchronize": lambda device=None: None,
        "_lazy_init": lambda: None,
        "is_current_stream_capturing": lambda: False,
        "mem_get_info": lambda device=None: (target.memory_bytes, target.memory_bytes),
        "memory_allocated": lambda device=None: 0,
    }


def _interface(cuda: dict[str, Any]) -> type:
    """A device interface that asks the stand-ins; the class copies functions when it is made."""
    from torch._dynamo.device_interface import CudaInterface

    names = ("current_device", "set_device", "device_count", "synchronize",
             "get_device_properties", "memory_allocated", "is_bf16_supported")  # fmt: skip
    own: dict[str, Any] = {name: staticmethod(cuda[name]) for name in names}
    own["exchange_device"] = staticmethod(cuda["_exchange_device"])
    own["maybe_exchange_device"] = staticmethod(cuda["_maybe_exchange_device"])
    own["get_raw_stream"] = staticmethod(lambda device=0: 0)
    own["Worker"] = type("Worker", (CudaInterface.Worker,), {
        "current_device": own["current_device"], "set_device": own["set_device"],
        "get_device_properties": own["get_device_properties"]})  # fmt: skip
    return type("TargetInterface", (CudaInterface,), own)


class _Driver:
    """The Triton driver of a GPU that is not there: it knows its target and cannot launch."""

    def __init__(self, target: Target) -> None:
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", target.arch, target.architecture.warp_size)
        memory = target.architecture.shared_memory_per_block_optin
        device = {"max_shared_mem": memory, "multiprocessor_count": target.sm_count,
                  "max_num_regs": target.architecture.registers_per_sm,
                  "warpSize": target.architecture.warp_size}  # fmt: skip
        self.utils = SimpleNamespace(get_device_properties=lambda index: device)
        self.capability = target.capability

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self.capability

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def map_python_to_cpp_type(self, ty: str) -> str:
        from triton.backends.nvidia.driver import ty_to_cpp

        return ty_to_cpp(ty)

    @staticmethod
    def is_active() -> bool:
        return True


# ------------------------------------------------------------------------------ standing in


@contextmanager
def standing_in(target: Target) -> Iterator[None]:
    """Let PyTorch and Triton see `target` as ``cuda:0``; everything is put back at the end."""
    cuda = _cuda(target)
    with ExitStack() as stack:
        stack.callback(clear_device_caches)
        for name, function in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, function))
        allocator = "_cuda_cudaCachingAllocator_is_enabled"  # cudagraph_utils asks; not on the CPU
        there = mock.Mock(return_value=True)
        stack.enter_context(mock.patch.object(torch._C, allocator, there, create=True))
        stack.enter_context(_device_interfaces(_interface(cuda)))
        stack.enter_context(_triton_driver(target))
        stack.enter_context(mock.patch("torch.autograd._engine_run_backward", _engine))
        stack.enter_context(_without_device_init())
        stack.enter_context(_device_guard())
        stack.enter_context(_dispatched_as_on_cuda())
        stack.enter_context(_torch_patterns.kept_apart())
        clear_device_caches()
        yield


@torch._dynamo.disable  # code between two graphs may call it, and must not be compiled with it
def _engine(outputs: Any, gradients: Any, *rest: Any, **options: Any) -> Any:
    """The engine in Python for tensors of the target, PyTorch's own for all others."""
    there = any(getattr(getattr(o, "device", None), "type", "") == "cuda" for o in outputs)
    run = target_autograd.run_backward if there else torch.autograd.graph._engine_run_backward
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


def _never(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("not compiled with CUDA")


def _forget_dispatch() -> None:
    for name in _WHOLE_ON_CUDA:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            getattr(packet, overload)._dispatch_cache.clear()


_GUARDS = "_ZN3c104impl26device_guard_impl_registryE"  # c10/core/impl/DeviceGuardImplInterface.h
_CUDA_SLOT = 1  # c10::DeviceType::CUDA


@contextmanager
def _device_guard() -> Iterator[None]:
    """A guard for CUDA devices that does nothing, in a PyTorch built without CUDA.

    PyTorch sets one itself (_ensureCUDADeviceGuardSet), but only over a guard that counts no
    devices, and a CPU build has none at all. So one that counts none stands there first.
    """
    slots = _guard_slots()
    before = slots[_CUDA_SLOT]
    count_none = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    methods = (ctypes.c_void_p * 64)(*[ctypes.cast(count_none, ctypes.c_void_p).value] * 64)
    guard = (ctypes.c_void_p * 2)(ctypes.addressof(methods), 0)
    if not before:
        slots[_CUDA_SLOT] = ctypes.addressof(guard)
    try:
        torch._C._ensureCUDADeviceGuardSet()
        yield
    finally:
        slots[_CUDA_SLOT] = before


def _guard_slots() -> Any:
    names = {"darwin": "libc10.dylib", "win32": "c10.dll"}
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    library = ctypes.CDLL(os.path.join(folder, names.get(sys.platform, "libc10.so")))
    return (ctypes.c_void_p * (_CUDA_SLOT + 1)).in_dll(library, _GUARDS)


def _nothing(self: Any) -> None:
    pass


@contextmanager
def _triton_driver(target: Target) -> Iterator[None]:
    """The target's driver is the active one, and the only one a kernel's source can activate."""
    from triton.backends import backends
    from triton.runtime import driver as config

    driver = _Driver(target)
    nvidia = backends["nvidia"]
    own = type("TargetDriver", (_Driver,), {"__new__": lambda cls: driver, "__init__": _nothing})
    before = config._active
    config.set_active(driver)
    try:
        with mock.patch.dict(backends, nvidia=dataclasses.replace(nvidia, driver=own)):
            yield
    finally:
        config._active = before


#: Modules whose cached functions may remember a device.
_CACHED = ("torch.utils._triton", "torch._inductor", "torch._dynamo.device_interface")


def device_caches() -> dict[str, Any]:
    """The cached functions that may remember a device, by dotted name."""
    found: dict[int, tuple[str, Any]] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(_CACHED) and module is not None and "cpp" not in name.split(".")[-1]:
            for key, value in list(_cached_in(module)):
                found.setdefault(id(value), (f"{name}.{key}", value))
    from torch._inductor.runtime.hints import DeviceProperties

    create = DeviceProperties.create.__func__
    found[id(create)] = ("torch._inductor.runtime.hints.DeviceProperties.create", create)
    return dict(found.values())


def _cached_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for key, value in vars(module).items():
        if not isinstance(value, functools._lru_cache_wrapper):
            continue
        neutral = value.__name__ in _torch_patterns.NEUTRAL
        if not neutral and not value.__module__.startswith("torch._inductor.cpp"):
            yield key, value


def clear_device_caches() -> None:
    """Forget what was cached about the device, so that it is asked again."""
    for cached in device_caches().values():
        cached.cache_clear()
    from torch._inductor.codecache import CacheBase

    for name in ("get_system", "get_local_cache_path"):
        clear = getattr(getattr(CacheBase, name, None), "cache_clear", None)
        if clear is not None:
            clear()
