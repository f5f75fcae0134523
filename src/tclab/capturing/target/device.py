"""Define functions and classes that answer in place of a GPU that is not there; `stand_in` installs
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn

import torch

from tclab.targets import Target, TargetError

Functions = Mapping[str, Callable[..., object]]  # name in ``torch.cuda`` → function

#: The cause of the error that is raised when code would run on the target.
CANNOT_RUN = "code for a target cannot run here"


def device_properties(target: Target) -> SimpleNamespace:
    """Return the result of ``torch.cuda.get_device_properties`` on the target."""
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
        clock_rate=target.clocks.multiprocessor * 1000,
        memory_clock_rate=target.clocks.memory * 1000,
        memory_bus_width=target.clocks.bus,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName=target.gfx or target.device,
    )


def this_device() -> Any:
    """Return the properties of this machine's first NVIDIA GPU. Raises TargetError if there is
    none.
    """
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise TargetError(
            "this machine", "PyTorch sees no NVIDIA GPU",
            "go to the machine that has one; torch.cuda.is_available() says what PyTorch sees",
        )  # fmt: skip
    return torch.cuda.get_device_properties(0)


def cuda_functions(target: Target) -> Functions:
    """Return replacements for functions of ``torch.cuda``, by name."""
    props = device_properties(target)
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
        # Dynamo does not compile PyTorch's own functions, but would compile these after `fork_rng`.
        "get_rng_state": torch.compiler.disable(lambda device="cuda": cpu_state()),
        "set_rng_state": torch.compiler.disable(lambda state, device="cuda": None),
        "synchronize": lambda device=None: None,
        "_lazy_init": lambda: None,
        "is_current_stream_capturing": lambda: False,
        "mem_get_info": lambda device=None: (target.memory_bytes, target.memory_bytes),
        "memory_allocated": lambda device=None: 0,
    }


def make_device_interface(functions: Functions) -> type:
    """Make a class for ``torch._dynamo.device_interface`` that calls the given functions."""
    from torch._dynamo.device_interface import CudaInterface

    names = (
        *("current_device", "set_device", "device_count", "synchronize"),
        *("get_device_properties", "memory_allocated", "is_bf16_supported"),
    )
    methods: dict[str, object] = {name: staticmethod(functions[name]) for name in names}
    methods["exchange_device"] = staticmethod(functions["_exchange_device"])
    methods["maybe_exchange_device"] = staticmethod(functions["_maybe_exchange_device"])
    methods["get_raw_stream"] = staticmethod(lambda device=0: 0)
    methods["Worker"] = type(
        "Worker",
        (CudaInterface.Worker,),
        {
            "current_device": methods["current_device"],
            "set_device": methods["set_device"],
            "get_device_properties": methods["get_device_properties"],
        },
    )
    return type("TargetInterface", (CudaInterface,), methods)


class Driver:
    """A Triton driver for a GPU that is not there. It names the target and cannot launch."""

    def __init__(self, target: Target) -> None:
        from triton.backends.compiler import GPUTarget

        kind, arch = ("hip", target.gfx) if target.gfx else ("cuda", target.arch)
        self._target = GPUTarget(kind, arch, target.architecture.warp_size)
        memory = target.architecture.shared_memory_per_block_optin
        device = {
            "max_shared_mem": memory,
            "multiprocessor_count": target.sm_count,
            "max_num_regs": target.architecture.registers_per_sm,
            "warpSize": target.architecture.warp_size,
            "mem_clock_rate": target.clocks.memory * 1000,  # in kHz
            "mem_bus_width": target.clocks.bus,
        }
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
        if self._target.backend == "hip":
            from triton.backends.amd.driver import ty_to_cpp as hip_type

            return hip_type(ty)
        from triton.backends.nvidia.driver import ty_to_cpp

        return ty_to_cpp(ty)

    def get_current_stream(self, device: int | None = None) -> NoReturn:
        """Raise an error, because Triton calls this right before it launches a kernel."""
        raise NotImplementedError(CANNOT_RUN)

    def get_benchmarker(self) -> NoReturn:
        """Raise an error, because Inductor calls this right before it times kernels."""
        raise NotImplementedError(CANNOT_RUN)

    @staticmethod
    def is_active() -> bool:
        return True
