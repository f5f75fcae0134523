"""List the GPUs that have a name, with the source of each number.

The numbers are NVIDIA's own, or those that the CUDA driver gave for a device that others read:

- capability tables: CUDA C++ Programming Guide, "Compute Capabilities", tables of technical
  specifications (registers, threads, warp size and shared memory of a multiprocessor);
- operations per cycle: the same guide's "Arithmetic Instructions" for CUDA cores; for tensor cores
  the white papers and datasheets, dense (V100, A100, GA102, Ada, H100, Blackwell, Turing, Jetson);
- a device's multiprocessors, L2, memory and clocks: the sources that its entry names.
"""

from __future__ import annotations

from dataclasses import replace

from tclab.targets.properties import Architecture, Clocks, Target

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30

_SM70 = Architecture(
    (7, 0), 2048, 96 * _KIB, 96 * _KIB, 32, reserved_shared_memory=0, shared_memory_unit=256,
    rates={"f64": 64, "f32": 128, "f16": 1024},
)  # fmt: skip
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
_SM87 = Architecture(
    (8, 7), 1536, 164 * _KIB, 163 * _KIB, 16,
    rates={"f64": 4, "f32": 256, "tf32": 1024, "f16": 2048, "i8": 4096},
)  # fmt: skip
_SM89 = Architecture(
    (8, 9), 1536, 100 * _KIB, 99 * _KIB, 24,
    rates={"f64": 4, "f32": 256, "tf32": 512, "f16": 1024, "f8": 2048, "i8": 2048},
)  # fmt: skip
_SM90 = Architecture(
    (9, 0), 2048, 228 * _KIB, 227 * _KIB, 32,
    rates={"f64": 256, "f32": 256, "tf32": 2048, "f16": 4096, "f8": 8192, "i8": 8192},
)  # fmt: skip
#: NVIDIA publishes no rates of the H20's tensor cores, which are not those of an H100.
_H20 = replace(_SM90, rates={"f32": 256})
_SM100 = Architecture(
    (10, 0), 2048, 228 * _KIB, 227 * _KIB, 32,
    rates={"f64": 128, "f32": 256, "tf32": 4096, "f16": 8192, "f8": 16384, "i8": 16384},
)  # fmt: skip
#: Of 10.3 and 12.1 the guide says nothing of their own: NVIDIA's arch_traits.h (github.com/NVIDIA/
#: cccl, libcudacxx/include/cuda/__device) gives 10.3 what 10.0 has, and 12.1 is of 12.0's family.
_SM103 = replace(
    _SM100, capability=(10, 3), rates={"f32": 256, "tf32": 4096, "f16": 8192, "f8": 16384}
)
_SM110 = Architecture(
    (11, 0), 1536, 228 * _KIB, 227 * _KIB, 24,
    rates={"f32": 256, "f16": 8192, "f8": 16384},
)  # fmt: skip
_SM120 = Architecture(
    (12, 0), 1536, 100 * _KIB, 99 * _KIB, 24,
    rates={"f64": 4, "f32": 256, "tf32": 512, "f16": 1024, "f8": 2048, "i8": 2048},
)  # fmt: skip
_SM121 = replace(_SM120, capability=(12, 1))

_GA102 = "NVIDIA Ampere GA102 GPU Architecture white paper"
_ADA = "NVIDIA Ada GPU Architecture white paper"
_RTX_BLACKWELL = "NVIDIA RTX Blackwell GPU Architecture white paper"
_H100 = "NVIDIA H100 Tensor Core GPU Architecture white paper"
_SMI = "clocks read by others: github.com/thamada/nvidia-smi"
_BOOST = "its boost clock, for want of a published reading"
_XLA = "read from a device by others: github.com/openxla/xla, xla/backends/gpu/target_config/specs/"


def _device(
    name: str, device: str, architecture: Architecture, sm_count: int, l2_mib: float, memory: int,
    clocks: tuple[int, int, int], *sources: str, geforce: bool = False,
) -> Target:  # fmt: skip
    """Return a target. `l2_mib` is in MiB, `memory` in bytes; `clocks` are the fields of Clocks."""
    return Target(
        name, device, architecture, sm_count, int(l2_mib * _MIB), memory, Clocks(*clocks),
        source="; ".join(sources), halves_accumulation=geforce,
    )  # fmt: skip


# name, device, architecture, multiprocessors, L2 (MiB), memory (bytes), (MHz, memory MHz, bus bits)
_DEVICES = (
    _device("h200", "NVIDIA H200", _SM90, 132, 60, 150_109_880_320, (1980, 3201, 6016),
            "read from the device with torch.cuda.get_device_properties"),
    _device("gh200", "NVIDIA GH200 480GB", _SM90, 132, 60, 97280 * _MIB, (1980, 2619, 6144),
            "NVIDIA GH200 datasheet (96 GB, 4 TB/s)",
            "read from a device by others: github.com/mredenti/PowerCapping"),
    _device("h20", "NVIDIA H20", _H20, 78, 60, 97508 * _MIB, (1980, 2619, 6144),
            "read from a device by others: github.com/huangrt01/CS-Notes, Notes/GPU.md"),
    _device("h100", "NVIDIA H100 80GB HBM3", _SM90, 132, 50, 80 * _GIB, (1980, 2619, 5120),
            f"{_H100}, SXM5"),
    _device("h100nvl", "NVIDIA H100 NVL", _SM90, 132, 60, 99_960_750_080, (1785, 2619, 6144),
            "read from a device by others: github.com/caps-tum/mt4g, sample_results"),
    _device("h100pcie", "NVIDIA H100 PCIe", _SM90, 114, 50, 84_942_979_072, (1755, 1593, 5120),
            f"{_H100}, PCIe", f"{_XLA}h100_pcie.txtpb"),
    _device("a100", "NVIDIA A100-SXM4-80GB", _SM80, 108, 40, 80 * _GIB, (1410, 1593, 5120),
            "NVIDIA A100 Tensor Core GPU Architecture white paper; 80 GB datasheet"),
    _device("a30", "NVIDIA A30", _SM80, 56, 24, 24060 * _MIB, (1440, 1215, 3072),
            "NVIDIA A30 datasheet", "read from a device by others: "
            "github.com/JakeFlasher/benchmark_flash_attention, results_kvcache"),
    _device("gb300", "NVIDIA GB300", _SM103, 152, 129.25, 297_021_079_552, (2070, 3996, 7936),
            f"{_XLA}gb300.txtpb"),
    _device("b300", "NVIDIA B300 SXM6 AC", _SM103, 148, 126.5, 275_040 * _MIB, (2032, 3996, 7680),
            "read from a device by others: github.com/ademeure/QuickRunCUDA, B300_PIPE_CATALOG.md"),
    _device("b200", "NVIDIA B200", _SM100, 148, 126.5, 17835 * _GIB // 100, (1965, 3996, 7680),
            "read from a device by others: github.com/pytorch/ao/pull/4002"),
    _device("l40s", "NVIDIA L40S", _SM89, 142, 96, 48 * 10**9, (2520, 9001, 384),
            f"{_ADA} (AD102, 142 SMs)"),
    _device("l4", "NVIDIA L4", _SM89, 58, 48, 24 * 10**9, (2040, 6251, 192),
            f"{_ADA} (AD104, 58 SMs)"),
    _device("rtx6000ada", "NVIDIA RTX 6000 Ada Generation", _SM89, 142, 96, 48 * _GIB,
            (3105, 10001, 384), f"{_ADA} (AD102, 142 SMs)", _SMI),
    _device("rtx4090", "NVIDIA GeForce RTX 4090", _SM89, 128, 72, 24 * _GIB, (3105, 10501, 384),
            f"{_ADA}, GeForce RTX 4090", geforce=True),
    _device("rtx4080", "NVIDIA GeForce RTX 4080", _SM89, 76, 64, 16 * _GIB, (2505, 11200, 256),
            f"{_ADA}, GeForce RTX 4080", _BOOST, geforce=True),
    _device("rtx4070", "NVIDIA GeForce RTX 4070", _SM89, 46, 36, 12 * _GIB, (2475, 10500, 192),
            f"{_ADA}, GeForce RTX 4070", _BOOST, geforce=True),
    _device("rtx4060ti", "NVIDIA GeForce RTX 4060 Ti", _SM89, 34, 32, 16380 * _MIB,
            (3105, 9001, 128), "read from a device by others: github.com/thamada/nvidia-smi",
            geforce=True),
    _device("rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", _SM120, 188, 128,
            97887 * _MIB, (3090, 14001, 512), f"{_XLA}rtx6000pro.txtpb",
            "clocks: github.com/Theodore-Liu/sm120-fp4"),
    _device("rtx5090", "NVIDIA GeForce RTX 5090", _SM120, 170, 96, 33_680_457_728,
            (3090, 14001, 512), "read from a device by others: github.com/NVIDIA/nccl/issues/1637",
            "highest clock: github.com/kekzl/imp/issues/1671", geforce=True),
    _device("rtx5080", "NVIDIA GeForce RTX 5080", _SM120, 84, 64, 16 * _GIB, (2617, 15000, 256),
            f"{_RTX_BLACKWELL}, GeForce RTX 5080", _BOOST, geforce=True),
    _device("gb10", "NVIDIA GB10", _SM121, 48, 24, 122_570 * _MIB, (3003, 4266, 256),
            "read from a device by others: blog.kubesimplify.com, day 3 of DGX Spark",
            "NVIDIA DGX Spark datasheet (273 GB/s)"),
    _device("thor", "NVIDIA Thor", _SM110, 20, 32, 131_881_680_896, (1575, 4266, 256),
            "NVIDIA Jetson T5000 datasheet",
            "read from a device by others: github.com/NVIDIA/cutlass/issues/2784"),
    _device("orin", "Orin", _SM87, 16, 4, 64 * 10**9, (1300, 3200, 256),
            "NVIDIA Jetson AGX Orin 64GB datasheet",
            "read from a device by others: github.com/tmcdonell/cuda/issues/77"),
    _device("a6000", "NVIDIA RTX A6000", _SM86, 84, 6, 51_041_271_808, (2100, 8001, 384),
            f"{_XLA}a6000.txtpb", "clocks: github.com/mrirecon/bart/issues/323"),
    _device("a40", "NVIDIA A40", _SM86, 84, 6, 47_608_692_736, (1740, 7251, 384),
            "read from a device by others: github.com/thamada/nvidia-smi"),
    _device("a10", "NVIDIA A10", _SM86, 72, 6, 24 * 10**9, (1695, 6251, 384),
            "NVIDIA A10 datasheet; GA102 white paper"),
    _device("rtx3090", "NVIDIA GeForce RTX 3090", _SM86, 82, 6, 24 * _GIB, (2100, 9751, 384),
            f"{_GA102}, GeForce RTX 3090", _SMI, geforce=True),
    _device("t4", "Tesla T4", _SM75, 40, 4, 16 * 10**9, (1590, 5001, 256),
            "NVIDIA Turing GPU Architecture white paper, Tesla T4"),
    _device("v100", "Tesla V100-SXM2-16GB", _SM70, 80, 6, 16_935_682_048, (1530, 877, 4096),
            f"{_XLA}v100.txtpb"),
)  # fmt: skip

TARGETS = {target.name: target for target in _DEVICES}

#: The name of a target that names only a capability → the device whose numbers the target gets.
CAPABILITY_DEVICES = {
    "sm_70": "v100", "sm_75": "t4", "sm_80": "a100", "sm_86": "a10", "sm_87": "orin",
    "sm_89": "l40s", "sm_90": "h100", "sm_100": "b200", "sm_103": "b300", "sm_110": "thor",
    "sm_120": "rtx5090", "sm_121": "gb10",
}  # fmt: skip

#: The compute capability → what its devices have; one of them may have rates of its own.
ARCHITECTURES = {
    TARGETS[name].capability: TARGETS[name].architecture for name in CAPABILITY_DEVICES.values()
}


def find_by_device(device: str) -> Target | None:
    """Return the target whose device the CUDA driver gives this name, or None."""
    return next((target for target in TARGETS.values() if target.device == device), None)
