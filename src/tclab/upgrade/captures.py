"""Explain a function under another PyTorch, in a process of that environment."""

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
from tclab.model import Problem
from tclab.text import redaction

_PACKAGE_FOLDER = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class ExplainResult:
    """The report of a function, or the reason why it does not compile in that environment."""

    report: Report | None = None
    failure: Problem | None = None


def explain_in_environment(
    python: str, request: Mapping[str, Any], torch: str, seconds: float, beside: Path | None = None
) -> ExplainResult:
    """Explain a function with the Python `python`. `request` has the keywords of
    `ExplainRequest.parse`. Messages name the PyTorch version `torch`. File names are relative to
    the folder `beside`, or to the working folder if it is None. Raises ExplainError if the problem
    is not PyTorch's, such as a missing package.
    """
    with tempfile.TemporaryDirectory(prefix="tclab-upgrade-") as folder:
        out, log = Path(folder, "out.json"), Path(folder, "log.txt")
        with _start_child(python, out, log, beside) as process:
            try:
                process.communicate(json.dumps(request).encode(), timeout=seconds)
            except subprocess.TimeoutExpired:
                cause = f"the compile did not end within {seconds:.0f} seconds"
                return ExplainResult(
                    failure=Problem(request["spec"], cause, "--seconds N gives it more")
                )
        if out.is_file():
            return _read_result(json.loads(out.read_text(encoding="utf-8")), torch)
        said = log.read_text(encoding="utf-8", errors="replace")
        error = failures.explain_process_end(request["spec"], process.returncode, said)
        last = next(filter(None, map(str.strip, reversed(said.splitlines()))), "")
        cause = _redact(f"{error.cause}; {last[:300]}")
        return ExplainResult(failure=Problem(_redact(error.place), cause, error.next_step))


def _redact(text: str) -> str:
    """Return the text without possible tokens, since readers may pass the report on."""
    return redaction.redact_tokens(text, redaction.find_tokens())


@contextlib.contextmanager
def _start_child(
    python: str, out: Path, log: Path, folder: Path | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the child process; after the block, kill it and all processes that it started."""
    command = [python, "-X", "faulthandler", "-m", "tclab.upgrade.child", str(out)]
    # The command itself refuses older versions, and says what is not known about newer ones, so
    # allow any version in the child.
    beside = {"PYTHONPATH": _make_search_path(out.with_name("code")), "TCLAB_ANY_TORCH": "1"}
    variables = {**os.environ, **beside}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output,
                                   env=variables, cwd=folder, start_new_session=True)  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(OSError, AttributeError):  # Windows has no process groups
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _make_search_path(folder: Path) -> str:
    """Return a PYTHONPATH with this tclab, but without the packages installed beside it."""
    folder.mkdir()
    try:
        (folder / "tclab").symlink_to(_PACKAGE_FOLDER, target_is_directory=True)
    except OSError:  # Windows requires a privilege for links
        shutil.copytree(_PACKAGE_FOLDER, folder / "tclab")
    others = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join([str(folder), *map(os.path.abspath, others)])


def _read_result(data: dict[str, Any], torch: str) -> ExplainResult:
    if "problem" not in data:
        # the format needs no check, because the same version of tclab wrote the data
        del data["format"]
        return ExplainResult(Report.from_data(data))
    place, cause, step = map(_redact, data["problem"])
    if data["ours"]:
        raise ExplainError(f"{place}, under PyTorch {torch}", cause, step)
    return ExplainResult(failure=Problem(place, cause, step))
