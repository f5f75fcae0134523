"""Define the GPUs for which code can be generated without having one, by the properties that
compilers read.

The numbers are those of NVIDIA's own documents, as the CUDA driver reports them:

- capability tables: CUDA C++ Programming Guide, "Compute Capabilities", tables of technical
  specifications (registers, threads, warp size and shared memory of a multiprocessor);
- operations per cycle: the same guide's "Arithmetic Instructions" for CUDA cores; for tensor cores
  the white papers of the architectures, dense (A100, GA102, Ada, H100, Blackwell, Turing);
- a device's multiprocessors, L2 and memory: its architecture white paper or datasheet.

Only the standard library is used here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tclab.errors import TclabError
from tclab.model import Version

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


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

    def operations_per_second(self, operands: str) -> float | None:
        """Return the peak rate of matrix products, in operations per second at the highest clock,
        for operands of this format. The formats are ``f64``, ``f32`` (CUDA cores), ``tf32``,
        ``f16`` (bfloat16, too), ``f8`` and ``i8``. None if the device has no such rate.
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
        return {
            "device": self.device,
            "compute capability": f"{a.capability[0]}.{a.capability[1]}",
            "multiprocessors": str(self.sm_count),
            "registers per multiprocessor": str(a.registers_per_sm),
            "threads per multiprocessor": str(a.max_threads_per_sm),
            "shared memory per block": f"{a.shared_memory_per_block_optin // _KIB} KiB",
            "L2": f"{self.l2_bytes / _MIB:g} MiB",
            "memory": f"{self.memory_bytes / _GIB:.0f} GiB",
            "memory bandwidth": f"{self.clocks.bytes_per_second / 1e9:,.0f} GB/s",
            "highest clock": f"{self.clocks.multiprocessor} MHz",
            "cuDNN": _format_cudnn_version(self.cudnn) if self.cudnn else _WHEELS_CUDNN,
            "source": self.source,
        }


#: PyTorch → the cuDNN that its wheel for CUDA 13 requires (the wheels' metadata:
#: nvidia-cudnn-cu13).
CUDNN = {
    (2, 11): 91900,
    (2, 12): 92000,
    (2, 13): 92000,
    (2, 14): 92400,
    (2, 15): 92600,
}


def cudnn(target: Target, torch: str) -> int:
    """Return the target's cuDNN version with this ``torch.__version__``; 0 if it is unknown."""
    return target.cudnn or CUDNN.get(Version.parse(torch).release, 0)


def _format_cudnn_version(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


_WHEELS_CUDNN = "PyTorch's own: " + ", ".join(
    f"{_format_cudnn_version(number)} with {major}.{minor}"
    for (major, minor), number in CUDNN.items()
)

_SM75 = Architecture(
    (7, 5), 1024, 64 * _KIB, 64 * _KIB, 16, reserved_shared_memory=0, shared_memory_unit=256,
    rates={"f64": 4, "f32": 128, "f16": 1024, "i8": 2048},
)  # fmt: skip
_SM80 = Architecture(
    (8, 0), 2048, 164 * _KIB, 163 * _KIB, 32,
    rates={"f64": 128, "f32": 128, "tf32": 1024, "f16": 2048, "i8": 4096},
)  # fmt: skip
_SM86 = Architecture(
    (8, 6), 1536, 100 * _KIB, 99 * _KIB, 16,
    rates={"f64": 4, "f32": 256, "tf32": 512, "f16": 1024, "i8": 2048},
)  # fmt: skip
_SM89 = Architecture(
    (8, 9), 1536, 100 * _KIB, 99 * _KIB, 24,
    rates={"f64": 4, "f32": 256, "tf32": 512, "f16": 1024, "f8": 2048, "i8": 2048},
)  # fmt: skip
_SM90 = Architecture(
    (9, 0), 2048, 228 * _KIB, 227 * _KIB, 32,
    rates={"f64": 256, "f32": 256, "tf32": 2048, "f16": 4096, "f8": 8192, "i8": 8192},
)  # fmt: skip
_SM100 = Architecture(
    (10, 0), 2048, 228 * _KIB, 227 * _KIB, 32,
    rates={"f64": 128, "f32": 256, "tf32": 4096, "f16": 8192, "f8": 16384, "i8": 16384},
)  # fmt: skip

TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("h200", "NVIDIA H200", _SM90, 132, 60 * _MIB, 150_109_880_320,
               clocks=Clocks(1980, 3201, 6144),
               source="read from the device with torch.cuda.get_device_properties; H200 datasheet"),
        Target("h100", "NVIDIA H100 80GB HBM3", _SM90, 132, 50 * _MIB, 80 * _GIB,
               clocks=Clocks(1980, 2619, 5120),
               source="NVIDIA H100 Tensor Core GPU Architecture white paper, SXM5"),
        Target("a100", "NVIDIA A100-SXM4-80GB", _SM80, 108, 40 * _MIB, 80 * _GIB,
               clocks=Clocks(1410, 1593, 5120),
               source="NVIDIA A100 Tensor Core GPU Architecture white paper; 80 GB datasheet"),
        Target("b200", "NVIDIA B200", _SM100, 148, 253 * _MIB // 2, 17835 * _GIB // 100,
               clocks=Clocks(1965, 3996, 8192),
               source="read from a device by others: github.com/pytorch/ao/pull/4002"),
        Target("l40s", "NVIDIA L40S", _SM89, 142, 96 * _MIB, 48 * 10**9,
               clocks=Clocks(2520, 9001, 384),
               source="NVIDIA Ada GPU Architecture white paper (AD102, 142 SMs)"),
        Target("l4", "NVIDIA L4", _SM89, 58, 48 * _MIB, 24 * 10**9,
               clocks=Clocks(2040, 6251, 192),
               source="NVIDIA Ada GPU Architecture white paper (AD104, 58 SMs)"),
        Target("rtx4090", "NVIDIA GeForce RTX 4090", _SM89, 128, 72 * _MIB, 24 * _GIB,
               clocks=Clocks(3105, 10501, 384),
               source="NVIDIA Ada GPU Architecture white paper, GeForce RTX 4090",
               halves_accumulation=True),
        Target("a10", "NVIDIA A10", _SM86, 72, 6 * _MIB, 24 * 10**9,
               clocks=Clocks(1695, 6251, 384),
               source="NVIDIA A10 datasheet; GA102 white paper"),
        Target("t4", "Tesla T4", _SM75, 40, 4 * _MIB, 16 * 10**9,
               clocks=Clocks(1590, 5001, 256),
               source="NVIDIA Turing GPU Architecture white paper, Tesla T4"),
    )
}  # fmt: skip

#: The name of a target that names only a capability → the device whose numbers the target gets.
_CAPABILITY_DEVICES = {"sm_75": "t4", "sm_80": "a100", "sm_86": "a10", "sm_89": "l40s",
                  "sm_90": "h100", "sm_100": "b200"}  # fmt: skip


def names() -> tuple[str, ...]:
    """Return every name that `get` accepts."""
    return (*TARGETS, *_CAPABILITY_DEVICES)


def get(name: str | Target) -> Target:
    """Return the target of this name (``h200``, ``NVIDIA A100``, ``sm_90``, ``sm90a``).

    Raises TargetError, with similar names, if there is none.
    """
    if isinstance(name, Target):
        return name
    key = _normalize_name(name)
    if key in _CAPABILITY_DEVICES:
        device = TARGETS[_CAPABILITY_DEVICES[key]]
        note = f"{key} names no device: the numbers are those of the {device.device}"
        return replace(device, name=key, note=note)
    if key in TARGETS:
        return TARGETS[key]
    if _AMD_NAME.fullmatch(key):
        raise TargetError(f"target {name!r}", _AMD_CAUSE, _AMD_NEXT_STEP)
    raise TargetError(f"target {name!r}", "no such target", _suggest_targets(key))


def find_by_device(device: str) -> Target | None:
    """Return the target whose device the CUDA driver gives this name, or None."""
    return next((target for target in TARGETS.values() if target.device == device), None)


def architecture(arch: int) -> Architecture | None:
    """Return the architecture of a capability as Triton writes it (90 for 9.0), or None."""
    known = {target.arch: target.architecture for target in TARGETS.values()}
    return known.get(arch)


def _normalize_name(name: str) -> str:
    key = re.sub(r"^(nvidia|geforce|tesla)[ _-]*", "", str(name).strip().lower())
    if match := re.fullmatch(r"(?:sm|compute|cc)?[ _-]?(\d+)\.?(\d)a?", key):
        return f"sm_{match[1]}{match[2]}"
    return re.sub(r"[ _-]+", "", key)


# mi300x, amdmi250, gfx942, rx7900xtx
_AMD_NAME = re.compile(r"(amd|radeon|instinct)*(mi\d{2,3}[a-z]*|gfx[0-9a-f]+|rx\d{4}[a-z]*)?(?<=.)")
_AMD_CAUSE = (
    "no GPU of AMD's is a target: which kernels there are Inductor decides by asking "
    "torch.version.hip, in many places and in part when it is imported, and this PyTorch is not "
    "built for AMD"
)
_AMD_NEXT_STEP = (
    "install PyTorch for ROCm and capture on the GPU, without target=; the page Targets argues it "
    "under Why there is no AMD among them"
)


def _suggest_targets(key: str) -> str:
    near = difflib.get_close_matches(key, names(), n=3, cutoff=0.5)
    nearest = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{nearest}Known targets: {', '.join(names())}"
