"""Find the files under ``snippets/`` and read each into a `Snippet`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict, cast

from tclab import claims
from tclab.errors import SnippetError
from tclab.model import NEEDS, Snippet, parsed, source_lines

_HEADER = re.compile(r"^#\s*tclab:(.*)$")
_NAME = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")


def find(root: Path) -> list[Snippet]:
    """Every snippet of the project, by name. SnippetError for the first that cannot be read."""
    found, unreadable = survey(root)
    for error in unreadable.values():
        raise error
    return found


def survey(root: Path) -> tuple[list[Snippet], dict[str, SnippetError]]:
    """Every snippet of the project, by name, and what is wrong with the others, by theirs.

    Files and packages that start with ``_`` are shared code, and so is what a snippet imports.
    """
    found, unreadable = [], {}
    for path in _paths(Path(root).absolute() / "snippets"):
        try:
            found.append(read(path, root))
        except SnippetError as error:
            unreadable[path] = error
    shared = {path for snippet in found for path in snippet.includes}
    return found, {_name(p, root): error for p, error in unreadable.items() if p not in shared}


def _paths(folder: Path) -> list[Path]:
    """Its files of Python, those in no topic too, but none of shared code."""
    paths = {*folder.glob("*/*.py"), *folder.glob("**/*.py")}  # the first follows linked topics
    return sorted(p for p in paths if not _shared(p.relative_to(folder).parts))


def _shared(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(("_", ".")) for part in parts[1:] or parts)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(Path(root).absolute() / "snippets").with_suffix("").as_posix()


def get(name: str, root: Path) -> Snippet:
    """The snippet called ``topic/what_it_shows``; SnippetError names those close to it."""
    path = Path(root) / "snippets" / f"{name}.py"
    if _NAME.fullmatch(name) and path.is_file():
        return read(path, root)
    raise SnippetError(name, "there is no such snippet", _nearest(name, root))


def _nearest(name: str, root: Path) -> str:
    import difflib

    folder = Path(root) / "snippets"
    names = [p.relative_to(folder).with_suffix("").as_posix() for p in folder.glob("*/[!_]*.py")]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"write snippets/{name}.py"


def read(path: Path, root: Path) -> Snippet:
    """Read one snippet. SnippetError says the line of what is wrong with it."""
    path, root = Path(path).absolute(), Path(root).absolute()
    place = path.relative_to(root).as_posix()
    name, source = _name(path, root), _text(path, place)
    if name.count("/") != 1:
        step = f"move it to snippets/<topic>/{path.name}; what is shared begins with _"
        raise SnippetError(place, "a snippet lies in the folder of its topic", step)
    tree = _parse(source, place)
    title, caption = _docstring(tree, place)
    settings = _header(source, place)
    reads = settings.pop("reads", ())
    return Snippet(
        name=name,
        path=path,
        title=title,
        caption=caption,
        source=source,
        includes=(*_includes(tree, path.parent, root), *_data(reads, root, place)),
        claims=claims.find(tree, source, place),
        **cast(Settings, settings),
    )


def _text(path: Path, place: str) -> str:
    """A file of Python; SnippetError for what is none. A byte order mark is no part of it."""
    if not path.is_file():  # to open a pipe would wait for its writer
        raise SnippetError(place, f"is no file: {_kind(path)}", "remove it, or put a file there")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SnippetError(place, f"cannot be read: {error}", "save it as UTF-8") from None
    except OSError as error:
        step = "see to it that you may read it"
        raise SnippetError(place, f"cannot be read: {error.strerror}", step) from None


def _kind(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if path.is_symlink():
        return f"a link to {os.readlink(path)}, where none is"
    return "a pipe, a socket or a device"


def _parse(source: str, place: str) -> ast.Module:
    try:
        return parsed(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise SnippetError(f"{place}:{line}", f"not valid Python: {error}", "mend it") from None


def _docstring(tree: ast.Module, place: str) -> tuple[str, str]:
    title, _, caption = (ast.get_docstring(tree) or "").partition("\n")
    if not title.strip():
        raise SnippetError(
            f"{place}:1",
            "has no docstring",
            "start the file with one: its first line is the title, the rest the caption",
        )
    return title.strip(), caption.strip()


# --------------------------------------------------------------------------- header


class Settings(TypedDict, total=False):
    """What a header sets of a `Snippet`."""

    needs: frozenset[str]
    raises: str
    timeout: float
    memory: int
    alone: bool


class _Header(Settings, total=False):
    reads: tuple[str, ...]


def header(source: str, place: str) -> Settings:
    """What the ``# tclab:`` line sets, without the files that it names."""
    settings = _header(source, place)
    settings.pop("reads", None)
    return cast(Settings, settings)


def _header(source: str, place: str) -> _Header:
    """What the one ``# tclab: key=value …`` line says."""
    headers = [
        (number, match[1])
        for number, line in enumerate(source_lines(source), 1)
        if (match := _HEADER.match(line))
    ]
    if len(headers) > 1:
        raise SnippetError(f"{place}:{headers[1][0]}", "a second '# tclab:' line", "keep one")
    if not headers:
        return {}
    number, text = headers[0]
    settings = dict(_setting(word, f"{place}:{number}") for word in text.split())
    return cast(_Header, settings)


def _setting(word: str, place: str) -> tuple[str, object]:
    key, equals, value = word.partition("=")
    reader = _SETTINGS.get(key)
    if not equals or reader is None:
        known = ", ".join(f"{name}=…" for name in _SETTINGS)
        raise SnippetError(place, f"unknown setting {word!r}", f"the settings are {known}")
    try:
        return key, reader(value)
    except ValueError as error:
        raise SnippetError(place, f"{key}={value}: {error}", "mend the header line") from None


def _needs(value: str) -> frozenset[str]:
    needs = frozenset(value.split(","))
    if unknown := needs - NEEDS:
        raise ValueError(f"{', '.join(sorted(unknown))} is none of {', '.join(sorted(NEEDS))}")
    return needs


def _positive(value: str) -> float:
    number = float(value)
    if not 0 < number < 1e6:
        raise ValueError("must be a positive number")
    return number


def _dotted(value: str) -> str:
    if not all(part.isidentifier() for part in value.split(".")):
        raise ValueError("must be the dotted name of an exception class")
    return value


def _boolean(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value == "true"


_SETTINGS: dict[str, Callable[[str], object]] = {
    "needs": _needs,
    "timeout": _positive,
    "memory": lambda value: int(_positive(value)),
    "raises": _dotted,
    "alone": _boolean,
    "reads": lambda value: tuple(value.split(",")),
}

# --------------------------------------------------------------------------- includes


def _includes(tree: ast.Module, folder: Path, root: Path) -> list[Path]:
    """The local files a module imports, and those that these import, in a fixed order."""
    files: set[Path] = set()
    todo = list(_local_imports(tree, folder))
    while todo:
        path = todo.pop(0)
        if path in files:
            continue
        files.add(path)
        place = path.relative_to(root).as_posix()
        todo += _local_imports(_parse(_text(path, place), place), folder)
    return sorted(files)


def _data(patterns: tuple[str, ...], root: Path, place: str) -> Iterator[Path]:
    """The files of the project that the header says it reads, such as ``records/*/*.jsonl``."""
    for pattern in patterns:
        paths = sorted(path for path in root.glob(pattern) if path.is_file())
        if not paths:
            cause = f"reads={pattern}: there is no such file in the project"
            raise SnippetError(place, cause, "mend the header line, or restore the file")
        yield from paths


def _local_imports(tree: ast.Module, folder: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        for module in _imported(node):
            yield from _files_of(module, folder)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        return [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
    return []


def _files_of(module: str, folder: Path) -> Iterator[Path]:
    """The files that `import module` reads, were `folder` first on ``sys.path``."""
    here = folder
    for part in filter(None, module.split(".")):
        for path in (here / f"{part}.py", here / part / "__init__.py"):
            if path.is_file():
                yield path
        here = here / part
