"""Measure the resources that a worker offers, and match them with a job's requirements.

A worker offers environments, each with a PyTorch, compilers and GPUs, on a machine with memory and
cores. `python -m tclab.site.remote.announcements` measures the environment that runs it and prints
the result as JSON. A worker starts it in each of its Pythons and announces all results
(`announce`). `match_environment` finds the environment that meets a job's `Requirements`, or
explains why none does.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypedDict, cast

import tclab
from tclab.errors import TclabError
from tclab.model import NEEDS, Provenance, Snippet
from tclab.site.remote.protocol import MACHINE_VARIABLES, PROTOCOL, agent_variables
from tclab.site.store import keys, status
from tclab.system import machine


class EnvironmentData(TypedDict):
    """One Python of a worker. `problem` says why this Python cannot run jobs; '' if it can."""

    python: str
    provenance: dict[str, object]
    has: list[str]  # the members of NEEDS that the environment meets
    problem: str


class Announcement(TypedDict):
    """The data that a worker announces to its clients."""

    protocol: int
    tclab: str
    name: str
    machine: str  # id of the machine, the same for all its workers
    slots: int  # the most jobs at a time
    memory: int  # MiB
    environments: list[EnvironmentData]


# --------------------------------------------------------------------------- a worker's side


def measure() -> EnvironmentData:
    """Measure the environment of the Python that runs this process."""
    problem = ""
    try:
        machine.check_torch()
    except TclabError as error:
        problem = f"{error.place}: {error.cause}"
    kept = {name: os.environ[name] for name in MACHINE_VARIABLES if name in os.environ}
    return {
        "python": sys.executable,
        "provenance": cast("dict[str, object]", asdict(machine.here(kept))),
        "has": sorted(
            need for need in NEEDS if not machine.missing_needs(_snippet_with_need(need))
        ),
        "problem": problem,
    }


def _snippet_with_need(requirement: str) -> Snippet:
    return Snippet(requirement, Path(), "", "", "", needs=frozenset({requirement}))


def measure_environment(python: str, folder: Path, seconds: float = 120.0) -> EnvironmentData:
    """Measure the environment of another Python. Raises TclabError if that fails.

    `folder` gets a link to this tclab and to nothing else, because tclab's own folder may hold
    another PyTorch, which the other Python must not import.
    """
    alone = folder / "tclab-alone"
    alone.mkdir(parents=True, exist_ok=True)
    if not (alone / "tclab").exists():
        os.symlink(Path(tclab.__file__).resolve().parent, alone / "tclab")
    env = agent_variables({}) | {"PYTHONPATH": str(alone)}
    command = [python, "-m", "tclab.site.remote.announcements"]
    try:
        done = subprocess.run(
            command,
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
        )
        return cast(EnvironmentData, json.loads(done.stdout) | {"python": python})
    except subprocess.CalledProcessError as error:
        cause = f"cannot be used: {error.stderr.strip().splitlines()[-1:]}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        cause = f"cannot be used: {error}"
    step = "name the Python of an environment with PyTorch: --env .venv/bin/python"
    raise TclabError(python, cause, step)


def announce(environments: Sequence[EnvironmentData], slots: int, name: str = "") -> Announcement:
    """Return the announcement of a worker on this machine that runs `slots` jobs at a time."""
    return {
        "protocol": PROTOCOL,
        "tclab": tclab.__version__,
        "name": name or platform.node() or "worker",
        "machine": _machine_id(),
        "slots": slots,
        "memory": _memory_mib(),
        "environments": list(environments),
    }


def _machine_id() -> str:
    """Return 12 hex digits that identify this machine until it reboots, without its name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = ""
    return hashlib.sha256(f"{platform.node()} {boot}".encode()).hexdigest()[:12]


def _memory_mib() -> int:
    """Return this machine's memory in MiB; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError, AttributeError):
        return 0


def dask_resources(announcement: Announcement) -> dict[str, float]:
    """Return the amounts of an announcement's resources by Dask's names."""
    usable = [one for one in announcement["environments"] if not one["problem"]]
    numbers = {
        "slots": announcement["slots"],
        "memory": announcement["memory"],
        "cores": machine.count_cores(),
    }
    numbers |= {need: 1 for one in usable for need in one["has"]}
    numbers |= {f"torch {one['provenance']['torch']}": 1 for one in usable}
    numbers |= {str(gpu): 1 for one in usable if (gpu := one["provenance"]["gpu"])}
    return {name: float(number) for name, number in numbers.items()}


# --------------------------------------------------------------------------- a job's side


@dataclass(frozen=True)
class Requirements:
    """The requirements of a job on a worker.

    With `like`, the environment must have the same provenance, apart from the day, as this machine.
    """

    needs: frozenset[str] = frozenset()
    memory: int = 0  # MiB
    torch: str = ""  # a prefix of the version: 2.15
    gpu: str = ""  # a part of the GPU's name
    like: Provenance | None = None
    alone: bool = False
    sees_gpu: bool = True

    @property
    def key(self) -> str:
        """A text that is equal for equal requirements."""
        key = keys.provenance_key(self.like) if self.like else ""
        rest = (self.memory, self.torch, self.gpu, key, self.alone, self.sees_gpu)
        return " ".join(map(str, (sorted(self.needs), *rest)))


def match_environment(
    announcement: Mapping[str, object], requirements: Requirements
) -> tuple[int, str]:
    """Return the index of the first environment that meets the requirements, with '' as the reason.

    If none does, return -1 and the reasons.
    """
    if announcement.get("protocol") != PROTOCOL:
        cause = f"it speaks protocol {announcement.get('protocol')}, and this tclab {PROTOCOL}"
        return -1, f"{cause} (its tclab is {announcement.get('tclab', 'unknown')})"
    announcement = cast(Announcement, announcement)
    reasons = []
    for number, environment in enumerate(announcement["environments"]):
        reason = _reason_unfit(environment, requirements)
        if not reason and requirements.memory > announcement["memory"] > 0:
            has, required = announcement["memory"], requirements.memory
            reason = f"it has {has:,} MiB of memory, and {required:,} are wanted"
        if not reason:
            return number, ""
        reasons.append(reason)
    return -1, "; ".join(dict.fromkeys(reasons)) or "it has no environment"


def _reason_unfit(environment: EnvironmentData, requirements: Requirements) -> str:
    """Return why an environment does not meet the requirements; '' if it does."""
    if environment["problem"]:
        return environment["problem"]
    known = {name: environment["provenance"].get(name, "") for name in keys.PROVENANCE}
    found = Provenance(**known, date="")  # type: ignore[arg-type]
    if requirements.torch and not version_matches(found.torch, requirements.torch):
        return f"PyTorch {found.torch} is not {requirements.torch}"
    if requirements.gpu.lower() not in found.gpu.lower():
        return f"no {requirements.gpu}"
    if missing := requirements.needs - set(environment["has"]):
        return f"no {', '.join(sorted(missing))}"
    if requirements.like is not None:
        ours = {n: v for n, v in requirements.like.variables.items() if n in MACHINE_VARIABLES}
        theirs = found if requirements.sees_gpu else found.without_gpu()
        differ = ", ".join(
            status.provenance_differences(replace(requirements.like, variables=ours), theirs)
        )
        return f"it is not as this machine ({differ})" if differ else ""
    return ""


def version_matches(version: str, required: str) -> bool:
    """Return whether `version` has the `required` prefix: 2.15 matches 2.15.0+cpu, and 2.1 does
    not.
    """
    plain = version.partition("+")[0]
    return plain == required or plain.startswith(f"{required}.") or version == required


if __name__ == "__main__":
    print(json.dumps(measure()))
