"""Find the files under ``snippets/``, and read each as a `Snippet`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict, cast

from tclab.errors import SnippetError
from tclab.model import NEEDS, Snippet, parse_source, source_lines
from tclab.site.snippets import claims

_HEADER = re.compile(r"^#\s*tclab:(.*)$")
_NAME = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")


def find(root: Path) -> list[Snippet]:
    """Read every snippet of the project, in the order of names. Raises SnippetError if a snippet is
    invalid.
    """
    found, unreadable = read_all(root)
    for error in unreadable.values():
        raise error
    return found


def read_all(root: Path) -> tuple[list[Snippet], dict[str, SnippetError]]:
    """Read every snippet of the project. Return the valid snippets, and the errors of the others by
    name.

    Files and packages whose names start with ``_`` are shared code, and so are files that a snippet
    imports.
    """
    found, unreadable = [], {}
    for path in _snippet_paths(Path(root).absolute() / "snippets"):
        try:
            found.append(read(path, root))
        except SnippetError as error:
            unreadable[path] = error
    shared = {path for snippet in found for path in snippet.includes}
    return found, {_name(p, root): error for p, error in unreadable.items() if p not in shared}


def _snippet_paths(folder: Path) -> list[Path]:
    """Return the sorted Python files below `folder` that are not shared code, even those outside
    of a topic.
    """
    paths = {
        *folder.glob("*/*.py"),
        *folder.glob("**/*.py"),
    }  # the first pattern follows links to topics
    return sorted(p for p in paths if not _is_shared(p.relative_to(folder).parts))


def _is_shared(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(("_", ".")) for part in parts[1:] or parts)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(Path(root).absolute() / "snippets").with_suffix("").as_posix()


def get(name: str, root: Path) -> Snippet:
    """Read the snippet ``topic/what_it_shows``. Raises SnippetError, with similar names, if there
    is none.
    """
    path = Path(root) / "snippets" / f"{name}.py"
    if _NAME.fullmatch(name) and path.is_file():
        return read(path, root)
    raise SnippetError(name, "there is no such snippet", _suggest_names(name, root))


def _suggest_names(name: str, root: Path) -> str:
    import difflib

    folder = Path(root) / "snippets"
    names = [p.relative_to(folder).with_suffix("").as_posix() for p in folder.glob("*/[!_]*.py")]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"write snippets/{name}.py"


def read(path: Path, root: Path) -> Snippet:
    """Read one snippet. Raises SnippetError, which names the line at fault."""
    path, root = Path(path).absolute(), Path(root).absolute()
    place = path.relative_to(root).as_posix()
    name, source = _name(path, root), _read_text(path, place)
    if name.count("/") != 1:
        step = f"move it to snippets/<topic>/{path.name}; what is shared begins with _"
        raise SnippetError(place, "a snippet lies in the folder of its topic", step)
    tree = _parse(source, place)
    title, caption = _split_docstring(tree, place)
    settings = _read_header(source, place)
    reads = settings.pop("reads", ())
    return Snippet(
        name=name,
        path=path,
        title=title,
        caption=caption,
        source=source,
        includes=(*_find_includes(tree, path.parent, root), *_read_files(reads, root, place)),
        claims=claims.find(tree, source, place),
        **cast(Settings, settings),
    )


def _read_text(path: Path, place: str) -> str:
    """Return the text of a Python file, without a byte order mark. Raises SnippetError if the file
    cannot be read.
    """
    if not path.is_file():  # opening a pipe would wait for a writer
        raise SnippetError(
            place, f"is no file: {_describe_kind(path)}", "remove it, or put a file there"
        )
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SnippetError(place, f"cannot be read: {error}", "save it as UTF-8") from None
    except OSError as error:
        step = "see to it that you may read it"
        raise SnippetError(place, f"cannot be read: {error.strerror}", step) from None


def _describe_kind(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if path.is_symlink():
        return f"a link to {os.readlink(path)}, where none is"
    return "a pipe, a socket or a device"


def _parse(source: str, place: str) -> ast.Module:
    try:
        return parse_source(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise SnippetError(f"{place}:{line}", f"not valid Python: {error}", "mend it") from None


def _split_docstring(tree: ast.Module, place: str) -> tuple[str, str]:
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
    """The fields of a `Snippet` that its header sets."""

    needs: frozenset[str]
    raises: str
    timeout: float
    memory: int
    alone: bool


class _Header(Settings, total=False):
    reads: tuple[str, ...]


def header(source: str, place: str) -> Settings:
    """Read the settings of the ``# tclab:`` line, except ``reads``."""
    settings = _read_header(source, place)
    settings.pop("reads", None)
    return cast(Settings, settings)


def _read_header(source: str, place: str) -> _Header:
    """Read the settings of the one ``# tclab: key=value …`` line."""
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
    settings = dict(_read_setting(word, f"{place}:{number}") for word in text.split())
    return cast(_Header, settings)


def _read_setting(word: str, place: str) -> tuple[str, object]:
    key, equals, value = word.partition("=")
    reader = _SETTINGS.get(key)
    if not equals or reader is None:
        known = ", ".join(f"{name}=…" for name in _SETTINGS)
        raise SnippetError(place, f"unknown setting {word!r}", f"the settings are {known}")
    try:
        return key, reader(value)
    except ValueError as error:
        raise SnippetError(place, f"{key}={value}: {error}", "mend the header line") from None


def _parse_needs(value: str) -> frozenset[str]:
    needs = frozenset(value.split(","))
    if unknown := needs - NEEDS:
        raise ValueError(f"{', '.join(sorted(unknown))} is none of {', '.join(sorted(NEEDS))}")
    return needs


def _parse_positive(value: str) -> float:
    number = float(value)
    if not 0 < number < 1e6:
        raise ValueError("must be a positive number")
    return number


def _parse_dotted(value: str) -> str:
    if not all(part.isidentifier() for part in value.split(".")):
        raise ValueError("must be the dotted name of an exception class")
    return value


def _parse_boolean(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value == "true"


def _parse_patterns(value: str) -> tuple[str, ...]:
    patterns = tuple(value.split(","))
    if any(not pattern or pattern.startswith("/") for pattern in patterns):
        raise ValueError("must be paths from the project's folder on, with commas between them")
    return patterns


_SETTINGS: dict[str, Callable[[str], object]] = {
    "needs": _parse_needs,
    "timeout": _parse_positive,
    "memory": lambda value: int(_parse_positive(value)),
    "raises": _parse_dotted,
    "alone": _parse_boolean,
    "reads": _parse_patterns,
}

# --------------------------------------------------------------------------- includes


def _find_includes(tree: ast.Module, folder: Path, root: Path) -> list[Path]:
    """Return the local files that a module imports, directly or not, sorted."""
    files: set[Path] = set()
    todo = list(_local_imports(tree, folder))
    while todo:
        path = todo.pop(0)
        if path in files:
            continue
        files.add(path)
        place = path.relative_to(root).as_posix()
        todo += _local_imports(_parse(_read_text(path, place), place), folder)
    return sorted(files)


def _read_files(patterns: tuple[str, ...], root: Path, place: str) -> Iterator[Path]:
    """Yield the files that match the header's ``reads``, such as ``records/*/*.jsonl``."""
    for pattern in patterns:
        paths = sorted(path for path in root.glob(pattern) if path.is_file())
        if not paths:
            cause = f"reads={pattern}: there is no such file in the project"
            raise SnippetError(place, cause, "mend the header line, or restore the file")
        yield from paths


def _local_imports(tree: ast.Module, folder: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        for module in _imported_modules(node):
            yield from _module_files(module, folder)


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        return [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
    return []


def _module_files(module: str, folder: Path) -> Iterator[Path]:
    """Yield the files that `import module` reads if `folder` is first on ``sys.path``."""
    here = folder
    for part in filter(None, module.split(".")):
        for path in (here / f"{part}.py", here / part / "__init__.py"):
            if path.is_file():
                yield path
        here = here / part
