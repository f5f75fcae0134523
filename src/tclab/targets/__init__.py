"""Define the GPUs for which code can be generated without having one, by the properties that
compilers read.

`properties` says what is known of a GPU, `devices` lists those that have a name, `files` reads one
from a file. Only the standard library is used here.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from tclab.model import Version
from tclab.targets import amd, files
from tclab.targets.devices import ARCHITECTURES, CAPABILITY_DEVICES, TARGETS, find_by_device
from tclab.targets.properties import (
    CUDNN,
    UNVERIFIED,
    Architecture,
    Clocks,
    Target,
    TargetError,
)

__all__ = [
    "CUDNN",
    "TARGETS",
    "Architecture",
    "Clocks",
    "Target",
    "TargetError",
    "architecture",
    "cudnn",
    "find_by_device",
    "get",
    "names",
]


def cudnn(target: Target, torch: str) -> int:
    """Return the target's cuDNN version with this ``torch.__version__``; 0 if it is unknown."""
    return target.cudnn or CUDNN.get(Version.parse(torch).release, 0)


def names() -> tuple[str, ...]:
    """Return every name that `get` accepts."""
    return (*TARGETS, *CAPABILITY_DEVICES)


def get(name: str | Target, *, unverified: bool = False) -> Target:
    """Return the target of this name (``h200``, ``NVIDIA A100``, ``sm_90``, ``sm90a``), or
    of the device that the CUDA driver gives this name (``NVIDIA RTX A6000``). A name with the
    ending ``.json`` is that of a file of ``tclab target-file``. With `unverified` the name may be
    that of a GPU of AMD's (``mi300x``).

    Raises TargetError, with similar names, if there is none.
    """
    if isinstance(name, Target):
        return name
    if name.strip().lower().endswith(".json"):
        return files.read(name.strip())
    key = _normalize_name(name)
    if key in CAPABILITY_DEVICES:
        device = TARGETS[CAPABILITY_DEVICES[key]]
        note = f"{key} names no device: the numbers are those of the {device.device}"
        return replace(device, name=key, note=note)
    if key in TARGETS:
        return TARGETS[key]
    if found := next((t for t in TARGETS.values() if _normalize_name(t.device) == key), None):
        return found
    of_amd = next((t for t in amd.TARGETS.values() if key in _amd_keys(t)), None)
    if of_amd and unverified:
        return of_amd
    if of_amd or _AMD_NAME.fullmatch(key):
        cause = UNVERIFIED if of_amd else f"of AMD's GPUs only {', '.join(amd.TARGETS)} have a name"
        raise TargetError(f"target {name!r}", cause, _AMD_NEXT_STEP)
    if os.path.isfile(name):
        step = f"mv {name} {Path(name).with_suffix('.json')}"
        raise TargetError(f"target {name}", "the name of a target file ends with .json", step)
    raise TargetError(f"target {name!r}", "no such target", _suggest_targets(key))


def architecture(arch: int) -> Architecture | None:
    """Return the architecture of a capability as Triton writes it (90 for 9.0), or None."""
    return ARCHITECTURES.get((arch // 10, arch % 10))


def _normalize_name(name: str) -> str:
    key = re.sub(r"^((nvidia|geforce|tesla|jetson)[ _-]*)+", "", str(name).strip().lower())
    if match := re.fullmatch(r"(?:sm|compute|cc)?[ _-]?(\d{1,2})\.?(\d)a?", key):
        return f"sm_{match[1]}{match[2]}"
    return re.sub(r"[ _-]+", "", key)


def _amd_keys(target: Target) -> tuple[str, str, str]:
    return target.name, target.gfx, _normalize_name(target.device)


# mi300x, amdmi250, gfx942, rx7900xtx
_AMD_NAME = re.compile(r"(amd|radeon|instinct)*(mi\d{2,3}[a-z]*|gfx[0-9a-f]+|rx\d{4}[a-z]*)?(?<=.)")
_AMD_NEXT_STEP = (
    "add --unverified, which takes AMD's GPUs and says so in each output; the page Targets says "
    "under AMD, not verified, what is known"
)


def _suggest_targets(key: str) -> str:
    from difflib import get_close_matches  # slow to import

    close = get_close_matches(key, names(), n=9, cutoff=0.5)
    # rtx4070 before sm_70 for 4070, b200 before h100 for b100
    near = sorted(close, key=lambda n: (n not in key and key not in n, n[0] != key[0]))[:3]
    nearest = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{nearest}{_OTHER_CARD} Known targets: {', '.join(names())}"


_OTHER_CARD = (
    "For another card, run tclab target-file on a machine that has it, or take one of its compute "
    "capability, such as sm_89."
)
