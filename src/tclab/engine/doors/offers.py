"""What a worker has, measured: its environments, their PyTorch and compilers, GPUs, memory, cores.

`python -m tclab.engine.doors.offers` measures the environment that it runs in, and prints it.
A worker asks each Python of its own so, and announces them all (`announced`). A job asks for some
of it (`Wish`); what of that is not there is said in words (`lacks`).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypedDict, cast

import tclab
from tclab import machine
from tclab.engine.doors.protocol import OF_THE_MACHINE, PROTOCOL, agents_variables
from tclab.errors import TclabError
from tclab.model import NEEDS, Provenance, Snippet, Version
from tclab.store import keys, status


class EnvironmentData(TypedDict):
    """One Python of a worker. `problem`: why it runs nothing."""

    python: str
    provenance: dict[str, object]
    has: list[str]  # of NEEDS
    problem: str


class Announcement(TypedDict):
    """A worker, as it announces itself."""

    protocol: int
    tclab: str
    name: str
    machine: str  # the same for all workers of one machine
    slots: int  # jobs at a time
    memory: int  # MiB
    environments: list[EnvironmentData]


# --------------------------------------------------------------------------- measuring


def measured() -> EnvironmentData:
    """This Python."""
    problem = ""
    try:
        machine.check_torch()
    except TclabError as error:
        problem = f"{error.place}: {error.cause}"
    kept = {name: os.environ[name] for name in OF_THE_MACHINE if name in os.environ}
    return {
        "python": sys.executable,
        "provenance": cast("dict[str, object]", asdict(machine.here(kept))),
        "has": sorted(need for need in NEEDS if not machine.missing_needs(_needing(need))),
        "problem": problem,
    }


def _needing(need: str) -> Snippet:
    return Snippet(need, Path(), "", "", "", needs=frozenset({need}))


def ask(python: str, folder: Path, seconds: float = 120.0) -> EnvironmentData:
    """What another Python says of itself. TclabError where it says nothing. `folder` is for a link
    to this tclab, since its own folder may hold another PyTorch.
    """
    alone = folder / "tclab-alone"
    alone.mkdir(parents=True, exist_ok=True)
    if not (alone / "tclab").exists():
        os.symlink(Path(tclab.__file__).resolve().parent, alone / "tclab")
    env = agents_variables({}) | {"PYTHONPATH": str(alone)}
    command = [python, "-m", "tclab.engine.doors.offers"]
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


def announced(environments: Sequence[EnvironmentData], slots: int, name: str = "") -> Announcement:
    """This machine, as a worker."""
    return {
        "protocol": PROTOCOL,
        "tclab": tclab.__version__,
        "name": name or platform.node() or "worker",
        "machine": _machine(),
        "slots": slots,
        "memory": _memory(),
        "environments": list(environments),
    }


def _machine() -> str:
    """A mark of this machine since it was started, from which its name cannot be read."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = ""
    return hashlib.sha256(f"{platform.node()} {boot}".encode()).hexdigest()[:12]


def _memory() -> int:
    """MiB."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError, AttributeError):
        return 0


def resources(offer: Announcement) -> dict[str, float]:
    """The same as numbers, as Dask keeps them and shows them."""
    having = [one for one in offer["environments"] if not one["problem"]]
    numbers = {"slots": offer["slots"], "memory": offer["memory"], "cores": machine.cores()}
    numbers |= {need: 1 for one in having for need in one["has"]}
    numbers |= {f"torch {one['provenance']['torch']}": 1 for one in having}
    numbers |= {str(gpu): 1 for one in having if (gpu := one["provenance"]["gpu"])}
    return {name: float(number) for name, number in numbers.items()}


# --------------------------------------------------------------------------- wishing


@dataclass(frozen=True)
class Wish:
    """What a job asks of a worker. `here`: to be of the kind that this machine is."""

    needs: frozenset[str] = frozenset()
    memory: int = 0  # MiB
    torch: str = ""  # how the version begins: 2.15
    gpu: str = ""  # a part of its name
    here: Provenance | None = None
    alone: bool = False
    sees_gpu: bool = True

    @property
    def key(self) -> str:
        """The same for all jobs that ask for the same."""
        key = keys.provenance_key(self.here) if self.here else ""
        asks = (self.memory, self.torch, self.gpu, key, self.alone, self.sees_gpu)
        return " ".join(map(str, (sorted(self.needs), *asks)))


def lacks(offer: Mapping[str, object], wish: Wish) -> tuple[int, str]:
    """Which of a worker's environments has what a job asks for; -1, and why none has."""
    if offer.get("protocol") != PROTOCOL:
        cause = f"it speaks protocol {offer.get('protocol')}, and this tclab {PROTOCOL}"
        return -1, f"{cause} (its tclab is {offer.get('tclab', 'unknown')})"
    there = cast(Announcement, offer)
    reasons = []
    for number, one in enumerate(there["environments"]):
        reason = _lacks(one, wish)
        if not reason and wish.memory > there["memory"] > 0:
            reason = f"it has {there['memory']:,} MiB of memory, and {wish.memory:,} are wanted"
        if not reason:
            return number, ""
        reasons.append(reason)
    return -1, "; ".join(dict.fromkeys(reasons)) or "it has no environment"


def _lacks(one: EnvironmentData, wish: Wish) -> str:
    if one["problem"]:
        return one["problem"]
    known = {name: one["provenance"].get(name, "") for name in keys.PROVENANCE}
    made = Provenance(**known, date="")  # type: ignore[arg-type]
    if wish.torch and not begins(made.torch, wish.torch):
        return f"PyTorch {made.torch} is not {wish.torch}"
    if wish.gpu.lower() not in made.gpu.lower():
        return f"no {wish.gpu}"
    if missing := wish.needs - set(one["has"]):
        return f"no {', '.join(sorted(missing))}"
    if wish.here is not None:
        ours = {n: v for n, v in wish.here.variables.items() if n in OF_THE_MACHINE}
        made = made if wish.sees_gpu else made.without_gpu()
        differ = ", ".join(status.of_provenance(replace(wish.here, variables=ours), made))
        return f"it is not as this machine ({differ})" if differ else ""
    return ""


def begins(version: str, wanted: str) -> bool:
    """Whether a version is the wanted one: 2.15 is 2.15.0+cpu, and not 2.1 of 2.15."""
    plain = version.partition("+")[0]
    return plain == wanted or plain.startswith(f"{wanted}.") or version == wanted


def every(offers: Iterable[Mapping[str, object]]) -> list[str]:
    """The PyTorches of all environments."""
    found = {
        str(one["provenance"]["torch"])
        for offer in offers
        if offer.get("protocol") == PROTOCOL
        for one in cast(Announcement, offer)["environments"]
        if not one["problem"]
    }
    return sorted(found, key=lambda text: Version.of(text).release)


if __name__ == "__main__":
    print(json.dumps(measured()))
