"""Source references in prose: `` `src:torch.compile` `` becomes a link to file and line."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict
from pathlib import Path

from tclab.errors import PageError, TclabError
from tclab.page.prose import installed, sources
from tclab.page.prose.markdown import MarkdownText

_REFERENCE = re.compile(r"(?<!`)(?P<ticks>`+) ?src:(?P<name>[\w.]+) ?(?P=ticks)")
_MALFORMED = re.compile(r"(?<!`)`src:(?![\w.]+`)[^`\n]+`?")


def link(text: MarkdownText, changed: str | None = None) -> tuple[str, list[TclabError]]:
    """The text with its references as links, and what is wrong with any of them. Fenced code is
    left alone.

    `changed` is what became of the text so far, line for line the same.
    """
    problems: list[TclabError] = []
    lines = (text.text if changed is None else changed).split("\n")
    for at, (number, _) in enumerate(text.lines):
        if number not in text.fenced:
            lines[at], wrong = _line(lines[at], f"{text.page}:{number}")
            problems.extend(wrong)
    return "\n".join(lines), problems


def _line(line: str, place: str) -> tuple[str, list[TclabError]]:
    problems: list[TclabError] = []

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        try:
            location = sources.link(name, place)
        except PageError as error:
            problems.append(error)
            return match[0]
        return f'[`{name}`]({location.url} "{location.file}:{location.line}")'

    if _MALFORMED.search(line):
        cause = "this source reference cannot be read"
        problems.append(PageError(place, cause, "write it as `src:package.module.name`"))
    return _REFERENCE.sub(replace, line), problems


# --------------------------------------------------------------------------- memory on disk


def remember(path: Path) -> None:
    """Take the locations found by earlier builds against the same PyTorch."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("key") == _key():
            sources.known.update({n: sources.Location(**v) for n, v in data["known"].items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # no memory, or one of another version: everything is looked up again


def save(path: Path) -> None:
    """Keep the locations found; a store that cannot be written costs time only."""
    data = {"key": _key(), "known": {n: asdict(v) for n, v in sorted(sources.known.items())}}
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data, indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _key() -> str:
    """Changes with the installed versions and with the code that looks names up."""
    code = b"".join(Path(str(m.__file__)).read_bytes() for m in (installed, sources))
    return hashlib.sha256(f"{installed.versions()}".encode() + code).hexdigest()
