"""List the GPUs of AMD's that have a name. Their code was never compared with that of a device.

Sources: "AMD GPU specifications" of AMD's ROCm documentation
(https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html) for compute units, memory, LDS, L2,
wavefront and register file; AMD's data sheets for clocks and bandwidth. `L2` is that of one XCD or
GCD, which is what HIP reports. A register file of 512 KiB is 131,072 registers of 32 bits, as
PyTorch's kernels from devices show with ROCm 7; ROCm 6 reported half of them.
"""

from __future__ import annotations

from tclab.targets.properties import Architecture, Clocks, Target

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
_SOURCE = "AMD GPU specifications (rocm.docs.amd.com), AMD's data sheet"


def _architecture(version: tuple[int, int], lds: int, wavefront: int, vgprs: int) -> Architecture:
    """Return the properties of a compute unit with `lds` KiB of LDS and `vgprs` KiB of vector
    registers. `version` is the GFXIP version, which HIP reports as the compute capability.
    """
    return Architecture(
        version, max_threads_per_sm=2048, shared_memory_per_sm=lds * _KIB,
        shared_memory_per_block_optin=lds * _KIB, max_blocks_per_sm=32,
        registers_per_sm=vgprs * _KIB // 4, shared_memory_per_block=lds * _KIB,
        warp_size=wavefront, source=_SOURCE,
    )  # fmt: skip


_DEVICES = (
    Target(
        "mi300x", "AMD Instinct MI300X", _architecture((9, 4), 64, 64, 512), 304, 4 * _MIB,
        192 * _GIB, Clocks(2100, 2600, 8192), _SOURCE, gfx="gfx942",
    ),
    Target(
        "mi325x", "AMD Instinct MI325X", _architecture((9, 4), 64, 64, 512), 304, 4 * _MIB,
        256 * _GIB, Clocks(2100, 3000, 8192), _SOURCE, gfx="gfx942",
    ),
    Target(
        "mi350x", "AMD Instinct MI350X", _architecture((9, 5), 160, 64, 512), 256, 4 * _MIB,
        288 * _GIB, Clocks(2200, 4000, 8192), _SOURCE, gfx="gfx950",
    ),
    Target(
        "mi250x", "AMD Instinct MI250X", _architecture((9, 0), 64, 64, 512), 110, 8 * _MIB,
        64 * _GIB, Clocks(1700, 1600, 4096), _SOURCE, gfx="gfx90a",
        note="one of the two devices (GCDs) that PyTorch sees of the card",
    ),
)  # fmt: skip

#: Name (``mi300x``) → device.
TARGETS = {target.name: target for target in _DEVICES}
