"""A function under one PyTorch: explained in a process of that environment."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclab.errors import ExplainError
from tclab.explain import Report, failures
from tclab.model import Gap

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Capture:
    """The report, or why there is none: the function does not compile there."""

    report: Report | None = None
    failure: Gap | None = None


def capture(python: str, words: Mapping[str, Any], torch: str, seconds: float) -> Capture:
    """Explain what the words of a request name, with this Python. ExplainError where what went
    wrong tells nothing of its PyTorch.
    """
    with tempfile.TemporaryDirectory(prefix="tclab-upgrade-") as folder:
        out, log = Path(folder, "out.json"), Path(folder, "log.txt")
        with _started(python, out, log) as process:
            try:
                process.communicate(json.dumps(words).encode(), timeout=seconds)
            except subprocess.TimeoutExpired:
                cause = f"the compile did not end within {seconds:.0f} seconds"
                return Capture(failure=Gap(words["spec"], cause, "--seconds N gives it more"))
        if out.is_file():
            return _read(json.loads(out.read_text(encoding="utf-8")), torch)
        said = log.read_text(encoding="utf-8", errors="replace")
        error = failures.of_the_process(words["spec"], process.returncode, said)
        last = next(filter(None, map(str.strip, reversed(said.splitlines()))), "")
        return Capture(failure=Gap(error.place, f"{error.cause}; {last[:300]}", error.next_step))


@contextlib.contextmanager
def _started(python: str, out: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process; after the block it has ended, and all that it started."""
    command = [python, "-X", "faulthandler", "-m", "tclab.upgrade.child", str(out)]
    variables = {**os.environ, "PYTHONPATH": _search_path(out.with_name("code"))}
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said,
                                   env=variables, start_new_session=True)  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(OSError, AttributeError):  # Windows has no groups
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _search_path(folder: Path) -> str:
    """Where the environment finds this tclab, and none of the packages that lie beside it."""
    folder.mkdir()
    try:
        (folder / "tclab").symlink_to(_PACKAGE, target_is_directory=True)
    except OSError:  # Windows asks for a right
        shutil.copytree(_PACKAGE, folder / "tclab")
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


def _read(data: dict[str, Any], torch: str) -> Capture:
    if "problem" not in data:
        return Capture(Report.from_json(json.dumps(data)))
    place, cause, step = data["problem"]
    if data["ours"]:
        raise ExplainError(f"{place}, under PyTorch {torch}", cause, step)
    return Capture(failure=Gap(place, cause, step))
