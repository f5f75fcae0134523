"""Find or make a Python with a given PyTorch. Environments are made in the user's cache, by uv if
it is installed, else by venv and pip.
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
from urllib.parse import unquote

from tclab.errors import BadRequest, TclabError
from tclab.explain import OnStep, Step
from tclab.model import Version
from tclab.system import files, machine, paths
from tclab.text.scrub import scrub

#: PyTorch → the Triton that it works with, because PyTorch's CPU builds do not install Triton. The
#: Makefile repeats the table, because it runs before there is a Python; a test compares the two.
TRITON_VERSIONS = {
    (2, 11): "3.6.0",
    (2, 12): "3.7.1",
    (2, 13): "3.7.1",
    (2, 14): "3.8.0",
    (2, 15): "3.9.0",
}
#: The measured size of PyTorch 2.15.0 from PyPI with Triton and the CUDA libraries, on Linux
#: x86-64.
DOWNLOAD_SIZE = "about 3 GB to download where no cache has them, 5.3 GB on the disk"
_MARKER = "tclab.json"

#: The newest build of the main branch, and the index that has it.
NIGHTLY, NIGHTLY_INDEX = "nightly", "https://download.pytorch.org/whl/nightly/cpu"

# 2.15.0, 2.16.0rc1, 2.16.0.dev20261101
_RELEASE = re.compile(r"\d+\.\d+(\.\d+)?((?:a|b|rc)\d+|\.dev\d+)?")
# wheels/torch-2.16.0-cp311-cp311-linux_x86_64.whl, https://host/torch-2.16.0%2Bcpu-cp311-….whl
_WHEEL = re.compile(r"(?:.*/)?torch-([^-/]+)-[^/]+\.whl")


class NoEnvironment(TclabError):
    """Raised if an environment cannot be made."""


@dataclass(frozen=True)
class Build:
    """A PyTorch to compare: its version, which is ``nightly`` until a nightly build is installed,
    and its requirement in pip's form.
    """

    version: str
    requirement: str

    @property
    def is_named_by_version(self) -> bool:
        """Whether any PyTorch of this version will do. This is false for a wheel, which is a build
        of its own.
        """
        return self.requirement == f"torch=={self.version}"

    @property
    def key(self) -> str:
        """A text that differs for two builds of one version; '' for a build that is named by its
        version.
        """
        file = Path(self.requirement)
        written = str(file.stat().st_mtime_ns) if file.is_file() else ""
        return "" if self.is_named_by_version else self.requirement + written


def parse_build(option: str, text: str) -> Build:
    """Parse a release (``2.15``), a candidate (``2.16.0rc1``), ``nightly``, or the path or URL of a
    wheel. Raises BadRequest for another text, a missing file, or a PyTorch older than the supported
    ones.
    """
    place = f"{option} {text}"
    if text == NIGHTLY:
        return Build(NIGHTLY, "torch")
    if wheel := _WHEEL.fullmatch(text):
        if "://" not in text and not Path(text).is_file():
            raise BadRequest(place, "there is no such file", "name a wheel that is there")
        where = text if "://" in text else str(Path(text).resolve())
        build = Build(Version.parse(unquote(wheel[1])).public, where)
    elif _RELEASE.fullmatch(text):
        version = f"{text}.0" if re.fullmatch(r"\d+\.\d+", text) else text
        build = Build(version, f"torch=={version}")
    else:
        step = "say it as 2.15.0, 2.16.0rc1 or nightly, or name a wheel: torch-….whl"
        raise BadRequest(place, "neither a version of PyTorch nor a wheel of it", step)
    if Version.parse(build.version).release < machine.OLDEST:
        problem = machine.unsupported_reason(build.version)
        raise BadRequest(place, problem, "choose one of those, or a newer one")
    return build


def find_torch_version(python: str) -> str:
    """Return the PyTorch version of a Python, without importing PyTorch. Raises BadRequest if the
    Python has no PyTorch.
    """
    ask = "import importlib.metadata as m; print(m.version('torch'))"
    place, step = f"--python {python}", "name the python of an environment that has PyTorch"
    try:
        result = subprocess.run(
            [python, "-c", ask], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadRequest(place, f"it cannot be started: {error}", step) from None
    if result.returncode:
        raise BadRequest(place, "it has no PyTorch", step)
    return Version.parse(result.stdout.strip()).public


@dataclass(frozen=True)
class EnvironmentMaker:
    """Makes environments. `packages` are the packages other than PyTorch that the user's file
    imports; `index` is the URL of the package index for PyTorch, '' for PyPI.
    """

    packages: tuple[str, ...] = ()
    index: str = ""

    def folder(self, build: Build) -> Path:
        """Return the folder of this PyTorch's environment."""
        python = f"py{sys.version_info[0]}.{sys.version_info[1]}"
        key = f"{self.index}{build.key}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:8] if key else ""
        name = "-".join(filter(None, ["torch", build.version, python, digest]))
        return paths.user_cache_folder() / "tclab" / "environments" / name

    def provide_python(self, build: Build, on_step: OnStep) -> str:
        """Return the Python of the environment, which is made or completed first if necessary."""
        folder = self.folder(build)
        python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        with _lock(folder):
            if not self.is_complete(build):
                for command in self.install_commands(build, folder, python):
                    _run_command(command, build.version, on_step)
                packages = sorted({*self.packages} | _read_marker(folder))
                files.replace(folder / _MARKER, json.dumps(packages))
        return str(python)

    def is_complete(self, build: Build) -> bool:
        """Return whether the environment exists with PyTorch and all `packages`."""
        folder = self.folder(build)
        return (folder / _MARKER).is_file() and {*self.packages} <= _read_marker(folder)

    def install_commands(self, build: Build, folder: Path, python: Path) -> Iterator[list[str]]:
        """Yield the commands that make the environment. Each command can be repeated after an
        interruption.
        """
        uv = shutil.which("uv")
        if uv:
            venv = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable]
            yield [*venv, str(folder)]
            install = [uv, "pip", "install", "--python", str(python)]
        else:
            yield [sys.executable, "-m", "venv", str(folder)]
            install = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
        nightly = build.version == NIGHTLY
        index = self.index or (NIGHTLY_INDEX if nightly else "")
        if nightly:
            install += ["--prerelease=allow"] if uv else ["--pre"]
        if index:
            yield [*install, "--index-url", index, build.requirement]
        triton = TRITON_VERSIONS.get(Version.parse(build.version).release)
        if sys.platform == "linux" and triton:
            install.append(f"triton=={triton}")
        yield [*install, build.requirement, "numpy", *self.packages]


def _read_marker(folder: Path) -> set[str]:
    """Return the packages that a completed environment has besides PyTorch; empty for an incomplete
    one.
    """
    try:
        return {*json.loads((folder / _MARKER).read_text(encoding="utf-8"))}
    except (OSError, ValueError):
        return set()


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold a lock, so that only one process at a time makes the environment. Raises NoEnvironment
    if the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = open(folder.with_name(f"{folder.name}.lock"), "a", encoding="ascii")  # noqa: SIM115
    except OSError as error:
        cause = f"no environment can be made there: {error.strerror}"
        step = "name a folder with XDG_CACHE_HOME, or a Python that has PyTorch with --python"
        raise NoEnvironment(scrub(str(folder.parent)), cause, step) from error
    with file:
        with contextlib.suppress(ImportError):  # Windows has no fcntl
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run_command(command: Sequence[str], torch: str, on_step: OnStep) -> None:
    """Run a command, and pass each line it prints to `on_step`. Raises NoEnvironment if it
    fails.
    """
    work = f"making an environment with PyTorch {torch}"
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                on_step(Step(work, phase=line.strip()[:60]))
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise _explain_failure(torch, "".join(lines), command)


_RETRY_STEP = "give the same command again once there is one, it goes on; or --python PATH"
_OTHER_VERSION_STEP = (
    "another version, another Python, or --python PATH of an environment that has it"
)
#: (pattern of an installer's message, cause, next step).
_PROBLEMS = (
    # error: Failed to fetch: https://pypi.org/simple/torch/
    # WARNING: Retrying (…) after connection broken by 'NewConnectionError(…)': /simple/torch/
    (r"(?:Failed to fetch|dns error|NewConnection|NameResolution|ConnectTimeout|ProxyError)()",
     "no package index can be reached", _RETRY_STEP),
    # ERROR: No matching distribution found for torch==2.15.99
    (r"No matching distribution found for (\S+)",
     "the package index has no {} for this Python", _OTHER_VERSION_STEP),
    #   cause: Because there is no version of torch==2.15.99 and you require torch==2.15.99, we can
    (r"there is no version of (\S+)",
     "the package index has no {} for this Python", _OTHER_VERSION_STEP),
    # ERROR: torch-2.14.1-cp312-cp312-linux_x86_64.whl is not a supported wheel on this platform.
    (r"(\S+\.whl) is not a supported wheel",
     "{} is for another Python or another system", "a wheel that fits, or --python PATH"),
    # ERROR: HTTP error 404 while getting https://host/torch-2.16.0-cp311-cp311-linux_x86_64.whl
    (r"HTTP error (\d+) while getting",
     "the server has no such wheel: it answered {}", "look at the address"),
    # The virtual environment was not created successfully because ensurepip is not available.
    (r"(?:ensurepip is not|No module named venv)()", "this Python has no venv",
     "install uv, or the system's python3-venv"),
)  # fmt: skip


def _explain_failure(torch: str, printed: str, command: Sequence[str]) -> NoEnvironment:
    """Return the error for a failed command, from the text that it printed."""
    place = f"PyTorch {torch}"
    if files.is_disk_full_error(OSError(printed)):
        return NoEnvironment(place, "the disk is full", f"free some: {DOWNLOAD_SIZE}")
    for pattern, cause, step in _PROBLEMS:
        if match := re.search(pattern, printed):
            return NoEnvironment(place, cause.format(match[1]), step)
    last = next(filter(None, map(str.strip, reversed(printed.splitlines()))), "it said nothing")
    cause = f"{Path(command[0]).name} failed: {last[:300]}"
    return NoEnvironment(place, cause, "mend that, or name one that there is: --python PATH")
