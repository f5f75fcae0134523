"""Run as a snippet's own process: execute the file as ``__main__`` and write down the results.

The job's folder holds ``job.json`` (the job). This process adds ``artifacts.jsonl`` (a line for
each artifact, written when it is shown), ``fault`` (the stack when it crashed or was stopped),
``imports/`` (the files it imported), ``opened`` (the files it read) and, last, ``end.json``. A
process without ``end.json`` was killed, or left early.
"""

from __future__ import annotations

import ast
import atexit
import faulthandler
import importlib
import io
import json
import linecache
import os
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from tclab import display
from tclab.errors import Unsteady
from tclab.model import Artifact, encode
from tclab.site.engine.worker import forked
from tclab.site.engine.worker.protocol import (
    AsDeclared,
    ClaimResults,
    End,
    JobFile,
    Returned,
    Stopped,
)
from tclab.site.snippets import claims, quantifiers
from tclab.system import imports, machine, opened_files, surroundings
from tclab.text.scrub import scrub, scrub_data, strip_terminal_codes

#: A function that executes a file's syntax tree in the namespace of ``__main__``.
Runner = Callable[[ast.Module, JobFile, dict[str, Any]], None]


def main(argv: list[str]) -> NoReturn:
    """Run a job in a cold process: ``python -m tclab.site.engine.worker.process FOLDER``."""
    surroundings.hide_host_name()
    _run(Path(argv[0]))


def run_forked(folder: Path) -> NoReturn:
    """Run a job in a fork of the warm process, after resetting the state inherited from it."""
    import tempfile
    from multiprocessing import process

    from tclab.site.engine.worker import warm

    atexit._clear()
    tempfile.tempdir = None
    # Spawned processes start in this folder and find the snippet's file from there.
    process.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    warm.prepare_fork()
    _run(folder)


def _run(folder: Path) -> NoReturn:
    job: JobFile = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    fault = open(folder / "fault", "w")  # noqa: SIM115 - open until the process ends
    faulthandler.enable(fault)
    _write_line_on_signal(folder / "where", job["file"])
    faulthandler.register(signal.SIGUSR2, fault, all_threads=True, chain=True)
    forked.prepare()
    display.set_sink(Collector(folder / "artifacts.jsonl"))
    _write(folder / "began", time.monotonic())  # all processes have the same monotonic clock
    process, register, lost = os.getpid(), claims.ClaimRegister(), _collect_lost_asserts()
    opened_files.watch(folder)
    error = _execute(job, register)
    if os.getpid() != process:
        forked.leave(error, job["file"])
    end = _make_report(error, job, _claim_results(register))
    forked.finish()
    if error is None and lost:
        end = _make_report(lost[0], job, _claim_results(register))
    imports.write_import_list(folder)
    _write(folder / "end.json", end)
    os._exit(0)


def _write(path: Path, data: End | float) -> None:
    path.with_suffix(".new").write_text(json.dumps(data), encoding="utf-8")
    os.replace(path.with_suffix(".new"), path)


def _write_line_on_signal(path: Path, file: str) -> None:
    """On SIGUSR2 write the number of the snippet's current line to `path`.

    faulthandler writes the stack even if Python no longer runs, but only its last 100 frames, and
    a compile is deeper than that.
    """

    def handler(_signal: int, frame: types.FrameType | None) -> None:
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        if frame is not None:
            path.write_text(str(frame.f_lineno))

    signal.signal(signal.SIGUSR2, handler)


# --------------------------------------------------------------------------- running


def _collect_lost_asserts() -> list[BaseException]:
    """Return a list to which each AssertionError is added that ends a thread or a function called
    at exit.

    Python only prints such an error on stderr and goes on.
    """
    lost: list[BaseException] = []
    former_thread_hook, former_unraisable_hook = threading.excepthook, sys.unraisablehook

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        keep_assert(args.exc_value)
        former_thread_hook(args)

    def unraisable_hook(args: sys.UnraisableHookArgs) -> None:
        if "atexit" in (args.err_msg or ""):
            keep_assert(args.exc_value)
        former_unraisable_hook(args)

    def keep_assert(error: BaseException | None) -> None:
        if isinstance(error, AssertionError):
            lost.append(error)

    threading.excepthook, sys.unraisablehook = thread_hook, unraisable_hook
    return lost


def _execute(job: JobFile, register: claims.ClaimRegister) -> BaseException | None:
    """Run the file; return the error that ended it, if any. Forks of the process return from here,
    too.
    """
    try:
        tree = ast.parse(job["source"], job["file"])
        claims.insert_claim_blocks(tree, claims.find(tree, job["source"], job["file"]))
        main = _make_main_module(job).__dict__
        main[quantifiers.REGISTER] = register
        _import_runner(job["runner"])(tree, job, main)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are results, too
        return error
    return None


def _run_plainly(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file as Python does. This is the default runner."""
    exec(claims.compile_tree(tree, job["file"]), main)


def _import_runner(name: str) -> Runner:
    """Import the function that executes the file, by its dotted name."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function) if module else _run_plainly


def _claim_results(register: claims.ClaimRegister) -> ClaimResults:
    broken = {name: _clean_message(message) for name, message in register.broken.items()}
    return {"reached": dict(register.reached), "passed": dict(register.passed), "broken": broken}


def _make_main_module(job: JobFile) -> types.ModuleType:
    """Make a new ``__main__`` module like that of ``python snippets/topic/file.py``."""
    file, source = job["file"], job["source"]
    main = types.ModuleType("__main__")
    main.__dict__["_tclab_main"] = sys.modules["__main__"]  # keep the earlier module alive
    main.__dict__.update(__file__=file, __builtins__=__builtins__, __loader__=None)
    sys.modules["__main__"] = main
    sys.argv = [file]
    sys.path[:] = [job["path"], *(p for p in sys.path if p not in ("", job["path"]))]
    # linecache does not check the disk for an entry without a time stamp. So tracebacks, inspect
    # and Triton read the source that runs, even after the snippet changes its folder.
    linecache.cache[file] = (len(source), None, io.StringIO(source).readlines(), file)
    return main


# --------------------------------------------------------------------------- end


def _make_report(error: BaseException | None, job: JobFile, claim_results: ClaimResults) -> End:
    """Return the report on how the file ended, with its claims."""
    if error is None:
        return Returned(ended="returned", **claim_results)
    if job["raises"] and is_a(error, job["raises"]):
        return AsDeclared(
            ended="as declared", raised=_clean_message(_read_message(error)), **claim_results
        )
    tb = forked.from_file(error.__traceback__, job["file"])
    return Stopped(
        ended=_classify(error),
        message=_clean_message(_read_message(error)),
        line=_find_line(tb, job["file"]) or getattr(error, "lineno", None),
        traceback=_clean_message("".join(traceback.format_exception(type(error), error, tb))),
        hint=_next_step(error),
        **claim_results,
    )


def _classify(error: BaseException) -> Literal["raised", "assertion", "unsteady", "exit"]:
    if isinstance(error, SystemExit):
        return "exit"
    if isinstance(error, Unsteady):
        return "unsteady"
    return "assertion" if isinstance(error, AssertionError) else "raised"


def _find_line(tb: types.TracebackType | None, file: str) -> int | None:
    """Return the number of the snippet's innermost line in a traceback; None if it has none."""
    frames = traceback.extract_tb(tb)
    return next((f.lineno for f in reversed(frames) if f.filename == file), None)


def _read_message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r})"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


#: The number of characters kept at each end of a very long message.
_MESSAGE_PART = 2**15


def _clean_message(text: str) -> str:
    """Return the cleaned message or traceback of an error, without the middle of a very long one,
    because cleaning hundreds of megabytes would take minutes.
    """
    left_out = len(text) - 2 * _MESSAGE_PART
    if left_out > _MESSAGE_PART:
        text = f"{text[:_MESSAGE_PART]}\n… {left_out:,} characters …\n{text[-_MESSAGE_PART:]}"
    return _clean(text)


def _clean(text: str) -> str:
    return scrub(strip_terminal_codes(text))


def is_a(error: BaseException, name: str) -> bool:
    """Return whether `name`, dotted or bare, is the error's class or one of its bases."""
    classes = type(error).__mro__
    if any(name in (c.__name__, f"{c.__module__}.{c.__qualname__}") for c in classes):
        return True
    module, _, attribute = name.rpartition(".")
    try:
        return bool(module) and getattr(importlib.import_module(module), attribute) in classes
    except (ImportError, AttributeError):
        return False


#: A part of an error's message that points to a fault of the machine → the next step.
_HINTS = machine.CXX_STEPS | {
    "No space left on device": "free some space in the store (TCLAB_STORE) and in TMPDIR, or name "
    "other folders there",
    "Cannot find a working triton": "pip install the Triton that pairs with this PyTorch",
    "No module named 'triton'": "pip install the Triton that pairs with this PyTorch",
    **dict.fromkeys(
        ("Found no NVIDIA driver", "No CUDA GPUs are available", "not compiled with CUDA"),
        "add needs=cuda to its '# tclab:' line",
    ),
}


def _next_step(error: BaseException) -> str:
    text = _read_message(error)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    usual = f"pip install {missing}" if missing and "." not in missing else ""
    of_limit = surroundings.next_step_for_limit(text)
    return next((step for part, step in _HINTS.items() if part in text), usual or of_limit)


# --------------------------------------------------------------------------- artifacts


#: The most bytes of artifacts that a run may show, since pages contain all of them.
_MAX_SHOWN = 32 * 2**20


class Collector:
    """Writes the artifacts that a run shows, as lines of JSON, with unique names and without
    secrets.

    If a run shows too much, the line that shows the artifact raises ValueError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()
        self._process = os.getpid()
        self._size = 0

    def __call__(self, artifact: Artifact) -> None:
        if os.getpid() != self._process:  # the snippet forked this process
            return
        data = encode(replace(artifact, name=self._make_unique(artifact.name)))
        line = json.dumps(scrub_data(data, _clean)).encode() + b"\n"
        self._size += len(line)
        if self._size > _MAX_SHOWN:
            raise ValueError(f"a run shows at most {_MAX_SHOWN // 2**20} MiB: show less of it")
        with self._path.open(
            "ab", buffering=0
        ) as file:  # one write for each line, so that lines of threads do not mix
            file.write(line)

    def _make_unique(self, name: str) -> str:
        """Return `name`, or ``name-2`` and so on if the name is taken."""
        number, unique = 1, name
        while unique in self._names:
            number += 1
            unique = f"{name}-{number}"
        self._names.add(unique)
        return unique


if __name__ == "__main__":
    main(sys.argv[1:])
