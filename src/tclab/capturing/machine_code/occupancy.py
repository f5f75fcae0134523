"""Compute occupancy: the number of warps of a kernel that one multiprocessor can hold, and what
limits it.

The rules are those of NVIDIA's own calculator, the header ``cuda_occupancy.h`` of the CUDA
toolkit (12.8), with the limits of the CUDA C++ Programming Guide, "Compute Capabilities".
"""

from __future__ import annotations

import sys

from tclab.model import Occupancy
from tclab.targets import Architecture

_REGISTER_UNIT = 256  # a warp gets a multiple of this number (all capabilities since 3.0)
_PARTITIONS = 4  # four schedulers split a multiprocessor's registers (since 5.0)


def compute_occupancy(
    device: Architecture, *, threads: int, registers: int, shared: int
) -> Occupancy:
    """Compute the occupancy for `threads` threads and `shared` bytes in each block, and `registers`
    registers in each thread.

    The number of blocks on a multiprocessor is the least of (cuda_occupancy.h,
    cudaOccMaxActiveBlocksPer…):

    - warps: ⌊threads a multiprocessor / 32 / W⌋, where W = ⌈threads / 32⌉ is the warps of a block;
    - registers: ⌊4 · ⌊registers of a quarter / R⌋ / W⌋, where R = 32 · `registers`, rounded up to
      a multiple of 256, is the registers of one warp;
    - shared memory: ⌊shared memory a multiprocessor / S⌋, where S is `shared` plus the bytes that
      the system reserves, rounded up to the unit of allocation;
    - blocks: the architecture's own limit.
    """
    warps = -(-threads // device.warp_size)
    most_warps = device.max_threads_per_sm // device.warp_size
    limits = {
        "warps": most_warps // warps,
        "registers": _warps_by_registers(device, registers) // warps,
        "shared memory": _blocks_by_shared_memory(device, shared),
        "blocks": device.max_blocks_per_sm,
    }
    blocks = min(limits.values())
    limiting = tuple(name for name, limit in limits.items() if limit == blocks)
    return Occupancy(blocks, blocks * warps, most_warps, limiting)


def _warps_by_registers(device: Architecture, registers: int) -> int:
    registers_per_warp = _round_up(max(registers, 1) * device.warp_size, _REGISTER_UNIT)
    return device.registers_per_sm // _PARTITIONS // registers_per_warp * _PARTITIONS


def _blocks_by_shared_memory(device: Architecture, shared: int) -> int:
    bytes_per_block = _round_up(shared + device.reserved_shared_memory, device.shared_memory_unit)
    return device.shared_memory_per_sm // bytes_per_block if bytes_per_block else sys.maxsize


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
