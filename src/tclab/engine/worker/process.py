"""What runs inside a snippet's own process: the file as ``__main__``, and who listens.

The job's folder holds ``job.json`` (what to run). This process adds ``artifacts.jsonl``, a
line for each thing shown as it is shown, ``fault`` (where it was when it crashed or was
stopped), ``imports/`` (the files it imported) and at the very end ``end.json``. Without the last
it did not end by itself.
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
import time
import traceback
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from tclab import claims, display, imports, machine
from tclab.engine.worker import forked
from tclab.engine.worker.protocol import AsDeclared, End, JobFile, Noted, Returned, Stopped
from tclab.model import Artifact, encode
from tclab.scrub import plain, scrub, scrub_data

#: Executes a file's syntax tree in the namespace of ``__main__``.
Runner = Callable[[ast.Module, JobFile, dict[str, Any]], None]


def main(argv: list[str]) -> NoReturn:
    """A cold process: ``python -m tclab.engine.worker.process FOLDER``."""
    _run(Path(argv[0]))


def run_forked(folder: Path) -> NoReturn:
    """A process forked from a warm one: first forget what belongs to that one."""
    import tempfile

    from tclab.engine.worker import warm

    atexit._clear()
    tempfile.tempdir = None
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    warm.in_child()
    _run(folder)


def _run(folder: Path) -> NoReturn:
    job: JobFile = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    fault = open(folder / "fault", "w")  # noqa: SIM115 - open for as long as we live
    faulthandler.enable(fault)
    _answer_where(folder / "where", job["file"])
    faulthandler.register(signal.SIGUSR2, fault, all_threads=True, chain=True)
    forked.prepare()
    display.collect(Collector(folder / "artifacts.jsonl"))
    _write(folder / "began", time.monotonic())  # one clock for all processes
    process, register = os.getpid(), claims.Register()
    error = _execute(job, register)
    if os.getpid() != process:
        forked.leave(error, job["file"])
    end = _end(error, job, _noted(register))
    forked.finish()
    imports.report(folder)
    _write(folder / "end.json", end)
    os._exit(0)


def _write(path: Path, data: End | float) -> None:
    path.with_suffix(".new").write_text(json.dumps(data), encoding="utf-8")
    os.replace(path.with_suffix(".new"), path)


def _answer_where(path: Path, file: str) -> None:
    """On SIGUSR2 write the snippet's current line.

    faulthandler writes the stack even where Python no longer runs, but only the last 100
    frames of it, and a compile is deeper than that.
    """

    def handler(_signal: int, frame: types.FrameType | None) -> None:
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        if frame is not None:
            path.write_text(str(frame.f_lineno))

    signal.signal(signal.SIGUSR2, handler)


# --------------------------------------------------------------------------- running


def _execute(job: JobFile, register: claims.Register) -> BaseException | None:
    """Run the file, here and in what it forks; the error that ended it."""
    try:
        tree = ast.parse(job["source"], job["file"])
        claims.register_in(tree, claims.find(tree, job["source"], job["file"]))
        main = _as_main(job).__dict__
        main[claims.REGISTER] = register
        _runner(job["runner"])(tree, job, main)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are results too
        return error
    return None


def _plainly(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file as Python does."""
    exec(claims.compiled(tree, job["file"]), main)


def _runner(name: str) -> Runner:
    """The function that executes the file, by its dotted name."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function) if module else _plainly


def _noted(register: claims.Register) -> Noted:
    broken = {name: _clean(message) for name, message in register.broken.items()}
    return {"reached": dict(register.reached), "broken": broken}


def _as_main(job: JobFile) -> types.ModuleType:
    """A fresh ``__main__`` as ``python snippets/topic/file.py`` would have made it."""
    file, source = job["file"], job["source"]
    main = types.ModuleType("__main__")
    main.__dict__["_tclab_main"] = sys.modules["__main__"]  # keep ours alive
    main.__dict__.update(__file__=file, __builtins__=__builtins__, __loader__=None)
    sys.modules["__main__"] = main
    sys.argv = [file]
    sys.path[:] = [job["path"], *(p for p in sys.path if p not in ("", job["path"]))]
    # Without a time stamp linecache never looks at the disk: tracebacks, inspect and
    # Triton read the very source that runs, wherever the snippet changes to.
    linecache.cache[file] = (len(source), None, io.StringIO(source).readlines(), file)
    return main


# --------------------------------------------------------------------------- its end


def _end(error: BaseException | None, job: JobFile, noted: Noted) -> End:
    """How the file ended and what became of its claims, as data."""
    if error is None:
        return Returned(ended="returned", **noted)
    if job["raises"] and is_a(error, job["raises"]):
        return AsDeclared(ended="as declared", raised=_clean(_only(error)), **noted)
    tb = forked.from_file(error.__traceback__, job["file"])
    return Stopped(
        ended=_cause(error),
        message=_clean(_only(error)),
        line=_line(tb, job["file"]) or getattr(error, "lineno", None),
        traceback=_clean("".join(traceback.format_exception(type(error), error, tb))),
        hint=_hint(error),
        **noted,
    )


def _cause(error: BaseException) -> Literal["raised", "assertion", "exit"]:
    if isinstance(error, SystemExit):
        return "exit"
    return "assertion" if isinstance(error, AssertionError) else "raised"


def _line(tb: types.TracebackType | None, file: str) -> int | None:
    """The snippet's innermost line."""
    frames = traceback.extract_tb(tb)
    return next((f.lineno for f in reversed(frames) if f.filename == file), None)


def _only(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r})"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _clean(text: str) -> str:
    return scrub(plain(text))


def is_a(error: BaseException, name: str) -> bool:
    """`name` is the error's class or a base of it: dotted, under any module, or bare."""
    classes = type(error).__mro__
    if any(name in (c.__name__, f"{c.__module__}.{c.__qualname__}") for c in classes):
        return True
    module, _, attribute = name.rpartition(".")
    try:
        return bool(module) and getattr(importlib.import_module(module), attribute) in classes
    except (ImportError, AttributeError):
        return False


#: Errors of a machine that lacks something: a part of the text, and what to do.
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


def _hint(error: BaseException) -> str:
    text = _only(error)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    usual = f"pip install {missing}" if missing and "." not in missing else ""
    return next((step for part, step in _HINTS.items() if part in text), usual)


# --------------------------------------------------------------------------- artifacts


#: Most bytes that a run shows. Pages have them in full.
_SHOWN = 32 * 2**20


class Collector:
    """The sink of a run: one line of JSON an artifact, unique names, nothing private.

    ValueError, at the line that shows it, for what would be too much.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()
        self._process = os.getpid()
        self._size = 0

    def __call__(self, artifact: Artifact) -> None:
        if os.getpid() != self._process:  # a process the snippet forked
            return
        data = encode(replace(artifact, name=self._unique(artifact.name)))
        line = json.dumps(scrub_data(data, _clean)).encode() + b"\n"
        self._size += len(line)
        if self._size > _SHOWN:
            raise ValueError(f"a run shows at most {_SHOWN // 2**20} MiB: show less of it")
        with self._path.open("ab", buffering=0) as file:  # whole, whatever other threads show
            file.write(line)

    def _unique(self, name: str) -> str:
        """`name`, or ``name-2`` and so on where it is taken."""
        number, unique = 1, name
        while unique in self._names:
            number += 1
            unique = f"{name}-{number}"
        self._names.add(unique)
        return unique


if __name__ == "__main__":
    main(sys.argv[1:])
