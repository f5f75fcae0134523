"""Find the files under ``snippets/`` and read each into a `Snippet`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict, cast

from tclab import claims
from tclab.errors import SnippetError
from tclab.model import NEEDS, Snippet, parsed

_HEADER = re.compile(r"^#\s*tclab:(.*)$")
_NAME = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")


def find(root: Path) -> list[Snippet]:
    """Every snippet of the project, by name. Files that start with ``_`` are includes."""
    paths = sorted((Path(root) / "snippets").glob("*/*.py"))
    return [read(path, root) for path in paths if not path.name.startswith("_")]


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
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SnippetError(place, f"cannot be read: {error}", "save it as UTF-8") from None
    tree = _parse(source, place)
    title, caption = _docstring(tree, place)
    settings = _header(source, place)
    reads = settings.pop("reads", ())
    return Snippet(
        name=path.relative_to(root / "snippets").with_suffix("").as_posix(),
        path=path,
        title=title,
        caption=caption,
        source=source,
        includes=(*_includes(tree, path.parent, place), *_data(reads, root, place)),
        claims=claims.find(tree, source, place),
        **cast(Settings, settings),
    )


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
        for number, line in enumerate(source.splitlines(), 1)
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


def _includes(tree: ast.Module, folder: Path, place: str) -> list[Path]:
    """The local files a module imports, and those that these import, in a fixed order."""
    files: set[Path] = set()
    todo = list(_local_imports(tree, folder))
    while todo:
        path = todo.pop(0)
        if path in files:
            continue
        files.add(path)
        todo += _local_imports(_parse(path.read_text(encoding="utf-8"), path.name), folder)
    return sorted(files)


def _data(patterns: tuple[str, ...], root: Path, place: str) -> Iterator[Path]:
    """The files of the project that the header says it reads, such as ``records/*/*.jsonl``."""
    for pattern in patterns:
        paths = sorted(root.glob(pattern))
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
