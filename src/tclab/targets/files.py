"""Write the properties of a GPU to a file, and read a target from it on another machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tclab.targets.devices import ARCHITECTURES, find_by_device
from tclab.targets.properties import Clocks, Target, TargetError

_FORMAT = 1
_SOURCE = "read from the device with torch.cuda.get_device_properties"
_NEXT_STEP = "write it again with tclab target-file, on the machine that has the GPU"

#: The whole numbers of a file, by the names of ``torch.cuda.get_device_properties``. Clocks are in
#: kHz, sizes in bytes, the bus in bits.
_NUMBERS = (
    *("major", "minor", "multi_processor_count", "total_memory", "L2_cache_size"),
    *("clock_rate", "memory_clock_rate", "memory_bus_width"),
    *("regs_per_multiprocessor", "max_threads_per_multi_processor", "max_threads_per_block"),
    *("shared_memory_per_multiprocessor", "shared_memory_per_block"),
    *("shared_memory_per_block_optin", "warp_size"),
)


def text(properties: object) -> str:
    """Return the text of the file, from what ``torch.cuda.get_device_properties`` returns."""
    values = {name: getattr(properties, name) for name in ("name", *_NUMBERS)}
    return json.dumps({"format": _FORMAT, **values}, indent=1) + "\n"


def read(path: str) -> Target:
    """Read a target from a file. Raises TargetError, with the file's name, if it is none."""
    place = f"target {path}"
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(place, f"cannot be read: {error.strerror}", _NEXT_STEP) from None
    except ValueError as error:
        raise TargetError(place, f"is not JSON: {error}", _NEXT_STEP) from None
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise TargetError(place, f"is not a target file of format {_FORMAT}", _NEXT_STEP)
    numbers = {name: _read_number(values, name, place) for name in _NUMBERS}
    device = values.get("name")
    if not isinstance(device, str) or not device.strip():
        raise TargetError(place, "it has no name of a device", _NEXT_STEP)
    return _make_target(device.strip(), numbers, place)


def _read_number(values: Mapping[str, object], name: str, place: str) -> int:
    value, least = values.get(name), 0 if name == "minor" else 1
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        cause = f"{name} is {value!r}, and has to be a whole number from {least} on"
        raise TargetError(place, cause, _NEXT_STEP)
    return value


def _make_target(device: str, numbers: Mapping[str, int], place: str) -> Target:
    capability = numbers["major"], numbers["minor"]
    if capability not in ARCHITECTURES:
        known = ", ".join(f"{major}.{minor}" for major, minor in sorted(ARCHITECTURES))
        cause = f"{device} has compute capability {capability[0]}.{capability[1]}"
        raise TargetError(place, f"{cause}, and known are {known}", "use one of these")
    named = find_by_device(device)
    architecture = replace(
        named.architecture if named else ARCHITECTURES[capability],
        registers_per_sm=numbers["regs_per_multiprocessor"],
        max_threads_per_sm=numbers["max_threads_per_multi_processor"],
        max_threads_per_block=numbers["max_threads_per_block"],
        shared_memory_per_sm=numbers["shared_memory_per_multiprocessor"],
        shared_memory_per_block=numbers["shared_memory_per_block"],
        shared_memory_per_block_optin=numbers["shared_memory_per_block_optin"],
        capability=capability,
        warp_size=numbers["warp_size"],
    )
    return Target(
        name=named.name if named else _make_name(device),
        device=device,
        architecture=architecture,
        sm_count=numbers["multi_processor_count"],
        l2_bytes=numbers["L2_cache_size"],
        memory_bytes=numbers["total_memory"],
        clocks=Clocks(
            numbers["clock_rate"] // 1000,
            numbers["memory_clock_rate"] // 1000,
            numbers["memory_bus_width"],
        ),
        source=_SOURCE,
        cudnn=named.cudnn if named else None,
        halves_accumulation="geforce" in device.lower(),
    )


def _make_name(device: str) -> str:
    """Return a name of small letters and digits, for files and tables."""
    return re.sub(r"[^a-z0-9]+", "", re.sub(r"nvidia|geforce|tesla", "", device.lower())) or "gpu"
