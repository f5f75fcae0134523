"""A Python that has the PyTorch asked for: this one, one that is named, or one made in the user's
cache, with uv where it is there and else with venv and pip.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclab import files, machine, paths
from tclab.errors import BadRequest, TclabError
from tclab.explain import OnStep, Step
from tclab.model import Version

#: The Triton that each PyTorch works with: its builds for processors alone bring none.
TRITON = {(2, 11): "3.6.0", (2, 12): "3.7.1", (2, 13): "3.7.1", (2, 14): "3.8.0", (2, 15): "3.9.0"}
#: What PyTorch 2.15.0 from PyPI took with Triton and the CUDA libraries, Linux on x86-64; measured.
SIZE = "about 3 GB to download where no cache has them, 5.3 GB on the disk"
_DONE = "tclab.json"

# 2.15.0
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


class NoEnvironment(TclabError):
    """An environment that cannot be made, and why."""


def version(option: str, text: str) -> str:
    """``2.15`` and ``2.15.0`` as ``2.15.0``. BadRequest for what this tclab does not know."""
    if not _VERSION.fullmatch(text):
        raise BadRequest(f"{option} {text}", "not a release of PyTorch", "say it as 2.15.0")
    if problem := machine.unknown_torch(text):
        raise BadRequest(f"{option} {text}", problem, "choose one of those")
    return text if text.count(".") == 2 else f"{text}.0"


def torch_of(python: str) -> str:
    """Which PyTorch a Python has, without importing it. BadRequest where it has none."""
    ask = "import importlib.metadata as m; print(m.version('torch'))"
    place, step = f"--python {python}", "name the python of an environment that has PyTorch"
    try:
        done = subprocess.run(
            [python, "-c", ask], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadRequest(place, f"it cannot be started: {error}", step) from None
    if done.returncode:
        raise BadRequest(place, "it has no PyTorch", step)
    return Version.of(done.stdout.strip()).public


@dataclass(frozen=True)
class Maker:
    """Makes environments. `packages` are those that the user's file imports, besides PyTorch;
    `index` is where PyTorch comes from, '' for the usual place.
    """

    packages: tuple[str, ...] = ()
    index: str = ""

    def folder(self, torch: str) -> Path:
        """Where the environment of this PyTorch lies."""
        python = f"py{sys.version_info[0]}.{sys.version_info[1]}"
        build = hashlib.sha256(self.index.encode()).hexdigest()[:8] if self.index else ""
        name = "-".join(filter(None, ["torch", torch, python, build]))
        return paths.users_cache() / "tclab" / "environments" / name

    def python(self, torch: str, on_step: OnStep) -> str:
        """The Python of the environment; made, or completed, where that has not been done."""
        folder = self.folder(torch)
        python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        with _alone(folder):
            if not self.is_there(torch):
                for command in self.commands(torch, folder, python):
                    _run(command, torch, on_step)
                done = sorted({*self.packages} | _installed(folder))
                files.replace(folder / _DONE, json.dumps(done))
        return str(python)

    def is_there(self, torch: str) -> bool:
        """Whether nothing has to be installed for it."""
        folder = self.folder(torch)
        return (folder / _DONE).is_file() and {*self.packages} <= _installed(folder)

    def commands(self, torch: str, folder: Path, python: Path) -> Iterator[list[str]]:
        """What makes it. Each can be run again over what an earlier one, or half of one, left."""
        uv = shutil.which("uv")
        if uv:
            venv = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable]
            yield [*venv, str(folder)]
            install = [uv, "pip", "install", "--python", str(python)]
        else:
            yield [sys.executable, "-m", "venv", str(folder)]
            install = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
        pinned = f"torch=={torch}"
        if self.index:
            yield [*install, "--index-url", self.index, pinned]
        if sys.platform == "linux" and (triton := TRITON.get(Version.of(torch).release[:2])):
            install.append(f"triton=={triton}")
        yield [*install, pinned, "numpy", *self.packages]


def _installed(folder: Path) -> set[str]:
    """The packages beside PyTorch, once it is there."""
    try:
        return {*json.loads((folder / _DONE).read_text(encoding="utf-8"))}
    except (OSError, ValueError):
        return set()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; another waits until the first has made it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "a", encoding="ascii") as file:
        with contextlib.suppress(ImportError):  # Windows has none
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str], torch: str, on_step: OnStep) -> None:
    """A command, its lines told as they come. NoEnvironment where it fails."""
    work = f"making an environment with PyTorch {torch}"
    said: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said.append(line)
                on_step(Step(work, phase=line.strip()[:60]))
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise _failure(torch, "".join(said), command)


_AGAIN = "give the same command again once there is one, it goes on; or --python PATH"
_OTHER = "another version, another Python, or --python PATH of an environment that has it"
#: What an installer says, what is wrong then, and what to do.
_PROBLEMS = (
    # error: Failed to fetch: https://pypi.org/simple/torch/
    # WARNING: Retrying (…) after connection broken by 'NewConnectionError(…)': /simple/torch/
    (r"(?:Failed to fetch|dns error|NewConnection|NameResolution|ConnectTimeout|ProxyError)()",
     "no package index can be reached", _AGAIN),
    # ERROR: No matching distribution found for torch==2.15.99
    (r"No matching distribution found for (\S+)",
     "the package index has no {} for this Python", _OTHER),
    #   cause: Because there is no version of torch==2.15.99 and you require torch==2.15.99, we can
    (r"there is no version of (\S+)", "the package index has no {} for this Python", _OTHER),
    # The virtual environment was not created successfully because ensurepip is not available.
    (r"(?:ensurepip is not|No module named venv)()", "this Python has no venv",
     "install uv, or the system's python3-venv"),
)  # fmt: skip


def _failure(torch: str, said: str, command: Sequence[str]) -> NoEnvironment:
    """What is wrong, of what the command said."""
    place = f"PyTorch {torch}"
    if files.is_of_a_full_disk(OSError(said)):
        return NoEnvironment(place, "the disk is full", f"free some: {SIZE}")
    for pattern, cause, step in _PROBLEMS:
        if match := re.search(pattern, said):
            return NoEnvironment(place, cause.format(match[1]), step)
    last = next(filter(None, map(str.strip, reversed(said.splitlines()))), "it said nothing")
    cause = f"{Path(command[0]).name} failed: {last[:300]}"
    return NoEnvironment(place, cause, "mend that, or name one that there is: --python PATH")
