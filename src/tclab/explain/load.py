"""Import ``FILE.py:NAME`` or ``MODULE:NAME`` and return the object."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import linecache
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tclab.errors import BadRequest, ExplainError
from tclab.explain.seeds import seeded
from tclab.findings.breaks import FAKE_TENSOR_ERROR
from tclab.text import user_lines
from tclab.text.scrub import is_generated, scrub

_HOW_TO_NAME = "say it as FILE.py:NAME or MODULE:NAME, for example my_model.py:forward"


def split(spec: str) -> tuple[str, str]:
    """Split ``FILE.py:NAME`` into the file or module, and the name in it."""
    where, colon, name = spec.rpartition(":")
    if not colon or not where or not name:
        missing = "a name" if not colon or not name else "a file or module"
        raise BadRequest(spec or "explain", f"{missing} is missing", _HOW_TO_NAME)
    return where, name


def is_file(spec: str) -> bool:
    """Return whether `spec` names a file outside of a package, which is executed anew at each
    import.
    """
    path = Path(spec.rpartition(":")[0])
    return path.suffix == ".py" and path.is_file() and "." not in _as_module(path.resolve())[1]


@contextmanager
def import_module(
    file_or_module: str, lines: Mapping[int, str] | None = None, suffix: str = ""
) -> Iterator[ModuleType]:
    """Import the file or module. During the block the file can import its neighbours, as if Python
    had been started in the file's folder. `lines`, by number, replace lines of the file. `suffix`
    is appended to the name of the file's module.
    """
    names_file = (
        file_or_module.endswith(".py") or os.sep in file_or_module or os.path.isfile(file_or_module)
    )
    path = Path(file_or_module).resolve()
    if names_file and not path.is_file():
        raise BadRequest(file_or_module, "no such file", _suggest_file(path))
    if names_file and path.suffix != ".py":
        raise BadRequest(file_or_module, "it is no Python file", _HOW_TO_NAME)
    folder, name = _as_module(path) if names_file else (Path.cwd(), file_or_module)
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield _import(file_or_module, name, path if names_file else None, lines or {}, suffix)
    finally:
        sys.path[:] = before


def _suggest_file(path: Path) -> str:
    there = sorted(p.name for p in path.parent.glob("*.py")) if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, there, n=1)
    return f"did you mean {near[0]}?" if near else _HOW_TO_NAME


def _as_module(path: Path) -> tuple[Path, str]:
    """Return the folder to import from and the module's name, which has dots if the file is in a
    package.
    """
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _import(
    file_or_module: str, name: str, path: Path | None, new_lines: Mapping[int, str], suffix: str
) -> ModuleType:
    own = sys.modules["tclab"]
    try:
        with seeded():
            if path is None or "." in name:
                return importlib.import_module(name)
            return _import_file(name, path, new_lines, suffix)
    except (Exception, SystemExit) as error:
        raise _import_error(file_or_module, name, path, error) from error
    finally:
        if sys.modules.get("tclab") is not own:
            sys.modules["tclab"] = own
            cause = "it replaces the module tclab, which is at work here"
            raise ExplainError(file_or_module, cause, "give your own module another name")


class _EditedFileLoader(SourceFileLoader):
    """Loads a file with some of its lines replaced."""

    def __init__(self, name: str, path: str, new_lines: Mapping[int, str]) -> None:
        super().__init__(name, path)
        self.new_lines = new_lines

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text(encoding="utf-8").splitlines()
        for number, line in self.new_lines.items():
            text[number - 1] = line
        return compile("\n".join(text) + "\n", self.path, "exec")


def _import_file(name: str, path: Path, new_lines: Mapping[int, str], suffix: str) -> ModuleType:
    """Import the file as a module under its own name with the suffix. If another module has this
    name, append ``_``.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.origin != str(path):
        name = f"{name}_"  # another module has the name, as for a file types.py
    name += suffix
    loader = _EditedFileLoader(name, str(path), new_lines) if new_lines else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_error(
    file_or_module: str, name: str, path: Path | None, error: BaseException
) -> ExplainError:
    absent = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    if path is None and absent and f"{name}.".startswith(f"{absent}."):
        return BadRequest(file_or_module, f"no module {absent!r}", _suggest_module(absent))
    if isinstance(error, SyntaxError):
        at = f"{shorten_path(error.filename or file_or_module)}:{error.lineno or '?'}"
        code = f": {error.text.strip()}" if error.text else ""
        return ExplainError(at, f"{type(error).__name__}: {error.msg}{code}", "correct the line")
    what = "sys.exit was called" if isinstance(error, SystemExit) else _describe_with_cause(error)
    return ExplainError(
        find_user_line(error, path) or file_or_module,
        f"it cannot be imported: {what}",
        _import_advice(error, path, name),
    )


def _describe_with_cause(error: BaseException) -> str:
    """Return the error's last line, and the last line of the first error in the chain that led to
    it.
    """
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return (
        last_line(error) if root is error else f"{last_line(error)} (because of {last_line(root)})"
    )


def _suggest_module(name: str) -> str:
    if Path(f"{name}.py").is_file():
        return f"for the file, say {name}.py:NAME"
    return f"is it installed, or next to the working folder? {_HOW_TO_NAME}"


def _import_advice(error: BaseException, path: Path | None, name: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install {error.name.split('.')[0]}, or run from the folder it is in"
    if path is not None and isinstance(error, ImportError) and "no known parent" in str(error):
        module = ".".join(Path(shorten_path(str(path))).with_suffix("").parts)
        return f"put an __init__.py beside it, or say it as a module of the package: {module}:NAME"
    if isinstance(error, SystemExit):
        return 'put what runs the program under: if __name__ == "__main__":'
    command = f"python -c 'import {name}'" if path is None else f"python {path.name}"
    return f"correct it; {command} should work"


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and each error that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def last_line(error: BaseException) -> str:
    """Return the last line of an error, ``ValueError: expected 8``, without this machine's paths.
    If the line ends with a colon, as in ``BackendCompilerFailed: backend='inductor' raised:``, the
    next line is appended. The error that an operator raised on fake tensors is appended, too.
    """
    text = "".join(traceback.format_exception_only(type(error), error))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    said = " ".join(lines[: 1 + lines[0].endswith(":")])
    raised = next(filter(None, map(FAKE_TENSOR_ERROR.search, lines[1:])), None)
    return scrub(f"{said}: {raised[1]}" if raised else said)[:400]


def find_user_line(error: BaseException, path: Path | None = None) -> str:
    """Return the user's innermost line in an error's traceback, with its code; '' if there is none.

    Lines of `path` are preferred; code that is in no file, or in one of Inductor's, is ignored.
    """
    in_files = (f for f in traceback.extract_tb(error.__traceback__) if os.path.isabs(f.filename))
    frames = user_lines.select_user_lines(in_files, lambda frame: frame.filename)
    frames = [f for f in frames if not is_generated(f.filename)]
    own = [f for f in frames if path is not None and f.filename == str(path)]
    for frame in reversed(own or frames):
        code = f" ({frame.line})" if frame.line else ""
        return f"{shorten_path(frame.filename)}:{frame.lineno}{code}"
    return ""


def code_at(file: str, line: int) -> str:
    """Return a line and its code, with the path relative to the working folder."""
    code = linecache.getline(file, line).strip()
    return f"{shorten_path(file)}:{line}" + (f" ({code})" if code else "")


def shorten_path(file: str) -> str:
    """Return the path of a file, relative to the working folder if the file is below that
    folder.
    """
    here = os.getcwd() + os.sep
    return file.removeprefix(here) if file.startswith(here) else scrub(file)


def find_object(module: ModuleType, name: str, file_or_module: str) -> Any:
    """Return the object `name` of a module; the name can have dots. Raises BadRequest, which
    suggests the nearest name, if there is none.
    """
    value: Any = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise BadRequest(
                file_or_module, f"there is no {name!r}", _suggest_name(value, part)
            ) from None
    return value


def _suggest_name(owner: object, part: str) -> str:
    there = [n for n in vars(owner) if not n.startswith("_")] if hasattr(owner, "__dict__") else []
    if near := difflib.get_close_matches(part, there, n=2, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    home = getattr(owner, "__name__", None)
    own = [n for n in there if getattr(getattr(owner, n), "__module__", None) == home]
    return f"there are: {', '.join(own[:12])}" if own else _HOW_TO_NAME
