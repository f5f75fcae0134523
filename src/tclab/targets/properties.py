"""Define what is known of a GPU: the properties of its architecture, its clocks, its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tclab.errors import TclabError

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


#: What every output for a GPU of AMD's says, because its code was never compared with a device's.
UNVERIFIED = "no AMD device was compared"


class TargetError(TclabError):
    """Raised if a target does not exist, or if code cannot be generated exactly for it."""


@dataclass(frozen=True)
class Architecture:
    """Properties of all devices of one compute capability (CUDA C++ Programming Guide)."""

    capability: tuple[int, int]
    max_threads_per_sm: int
    shared_memory_per_sm: int  # bytes
    shared_memory_per_block_optin: int  # bytes; the most that a block can opt in to
    max_blocks_per_sm: int
    registers_per_sm: int = 65536  # registers of 32 bits
    shared_memory_per_block: int = 48 * _KIB  # bytes, without opting in
    max_threads_per_block: int = 1024
    warp_size: int = 32
    reserved_shared_memory: int = 1 * _KIB  # bytes that the system reserves in each block
    shared_memory_unit: int = 128  # bytes; shared memory is allocated in multiples of this number
    source: str = "CUDA C++ Programming Guide, Compute Capabilities"
    #: Format of a product's operands → dense operations per cycle of one multiprocessor, with a
    #: multiply-add counted as two. They are tensor-core operations if the multiprocessor has tensor
    #: cores for the format.
    rates: Mapping[str, int] = field(default_factory=dict)
    l2_bytes_per_cycle: int = 64  # the most that one multiprocessor can take from L2


@dataclass(frozen=True)
class Clocks:
    """Clock rates in MHz, from *Max Clocks* of ``nvidia-smi -q -d CLOCK``, and the width of the
    memory bus in bits, from which bandwidth and peak performance are computed.

    Where no reading of *Max Clocks* was published, the target's source says so, and the rate is
    the boost clock that NVIDIA states: a card may reach a higher one.
    """

    multiprocessor: int  # MHz
    memory: int  # MHz; two transfers per cycle
    bus: int  # bits

    @property
    def bytes_per_second(self) -> float:
        """The memory bandwidth in bytes per second (the formula of Triton's
        testing.get_dram_gbps).
        """
        return self.memory * 1e6 * self.bus * 2 / 8


@dataclass(frozen=True)
class Target:
    """A named GPU. `device` is the CUDA driver's name for the GPU, `source` says where the GPU's
    numbers are from, and `note` adds what a reader should know.
    """

    name: str
    device: str
    architecture: Architecture
    sm_count: int
    l2_bytes: int
    memory_bytes: int
    clocks: Clocks
    source: str
    note: str = ""
    cudnn: int | None = None  # as cudnnGetVersion returns it; None: the version in PyTorch's wheel
    # true for GeForce, whose tensor cores accumulate in float32 at half the rate
    halves_accumulation: bool = False
    gfx: str = ""  # AMD's name of the architecture (gfx942); '' for a GPU of NVIDIA's

    @property
    def title(self) -> str:
        """The device's name, as every output shows it: one of AMD's says that it is not
        verified.
        """
        return f"{self.device} ({UNVERIFIED})" if self.gfx else self.device

    def operations_per_second(self, operands: str) -> float | None:
        """Return the peak rate of matrix products, in operations per second at the highest clock,
        for operands of this format. The formats are ``f64``, ``f32`` (CUDA cores), ``tf32``,
        ``f16`` (bfloat16, too), ``f8`` and ``i8``. None if the device has no such rate, or none is
        stated.
        """
        rate = self.architecture.rates.get(operands)
        if rate is None:
            return None
        halved = self.halves_accumulation and operands in ("tf32", "f16", "f8")
        return rate / (2 if halved else 1) * self._cycles_per_second

    @property
    def l2_bytes_per_second(self) -> float:
        """The most bytes per second that all multiprocessors can take from L2."""
        return self.architecture.l2_bytes_per_cycle * self._cycles_per_second

    @property
    def _cycles_per_second(self) -> float:
        """The cycles of all multiprocessors per second, at the highest clock."""
        return self.sm_count * self.clocks.multiprocessor * 1e6

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability, (9, 0) for an H100."""
        return self.architecture.capability

    @property
    def arch(self) -> int:
        """The compute capability as Triton writes it: 90 for (9, 0)."""
        return self.capability[0] * 10 + self.capability[1]

    def facts(self) -> dict[str, str]:
        """Map the names of the device's properties to text, in reading order."""
        a = self.architecture
        version = f"{a.capability[0]}.{a.capability[1]}"
        return {
            "device": self.title,
            **({"architecture": self.gfx} if self.gfx else {"compute capability": version}),
            "multiprocessors": str(self.sm_count),
            "registers per multiprocessor": str(a.registers_per_sm),
            "threads per multiprocessor": str(a.max_threads_per_sm),
            "shared memory per block": f"{a.shared_memory_per_block_optin // _KIB} KiB",
            "L2": f"{self.l2_bytes / _MIB:g} MiB",
            "memory": f"{self.memory_bytes / _GIB:.0f} GiB",
            "memory bandwidth": f"{self.clocks.bytes_per_second / 1e9:,.0f} GB/s",
            "highest clock": f"{self.clocks.multiprocessor} MHz",
            **({} if self.gfx else {"cuDNN": self._cudnn_text}),
            "source": self.source,
        }

    @property
    def _cudnn_text(self) -> str:
        return _format_cudnn_version(self.cudnn) if self.cudnn else _WHEELS_CUDNN


#: PyTorch → the cuDNN that its wheel for CUDA 13 requires (the wheels' metadata:
#: nvidia-cudnn-cu13).
CUDNN = {
    (2, 11): 91900,
    (2, 12): 92000,
    (2, 13): 92000,
    (2, 14): 92400,
    (2, 15): 92600,
}


def _format_cudnn_version(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


_WHEELS_CUDNN = "PyTorch's own: " + ", ".join(
    f"{_format_cudnn_version(number)} with {major}.{minor}"
    for (major, minor), number in CUDNN.items()
)
