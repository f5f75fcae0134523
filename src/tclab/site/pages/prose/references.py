"""Turn source references in prose, such as `` `src:torch.compile` ``, into links to file and
line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict
from pathlib import Path

from tclab.errors import PageError, TclabError
from tclab.site.pages.prose import installed_packages, sources
from tclab.site.pages.prose.markdown import MarkdownText

_REFERENCE = re.compile(r"(?<!`)(?P<ticks>`+) ?src:(?P<name>[\w.]+) ?(?P=ticks)")
_MALFORMED = re.compile(r"(?<!`)`src:(?![\w.]+`)[^`\n]+`?")


def link_references(text: MarkdownText, edited: str | None = None) -> tuple[str, list[TclabError]]:
    """Replace the references by links; return the text and the errors. References in fenced code
    are skipped.

    If `edited` is given, the references in it are replaced instead; it is an edited form of the
    text with the same lines.
    """
    problems: list[TclabError] = []
    lines = (text.text if edited is None else edited).split("\n")
    for index, (number, _) in enumerate(text.lines):
        if number not in text.fenced_lines:
            lines[index], line_problems = _link_line(lines[index], f"{text.page}:{number}")
            problems.extend(line_problems)
    return "\n".join(lines), problems


def _link_line(line: str, place: str) -> tuple[str, list[TclabError]]:
    problems: list[TclabError] = []

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        try:
            location = sources.locate_for_page(name, place)
        except PageError as error:
            problems.append(error)
            return match[0]
        return f'[`{name}`]({location.url} "{location.file}:{location.line}")'

    if _MALFORMED.search(line):
        cause = "this source reference cannot be read"
        problems.append(PageError(place, cause, "write it as `src:package.module.name`"))
    return _REFERENCE.sub(replace, line), problems


# --------------------------------------------------------------------------- memory on disk


def load_locations(path: Path) -> None:
    """Load the locations that earlier builds found in the same PyTorch."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("key") == _cache_key():
            sources.found_locations.update(
                {n: sources.Location(**v) for n, v in data["known"].items()}
            )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # the file is missing or from another version, so all names are looked up again


def save_locations(path: Path) -> None:
    """Save the locations for later builds; ignore a store that cannot be written."""
    data = {
        "key": _cache_key(),
        "known": {n: asdict(v) for n, v in sorted(sources.found_locations.items())},
    }
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data, indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _cache_key() -> str:
    """Return a digest of the installed versions and of the code that looks names up."""
    code = b"".join(Path(str(m.__file__)).read_bytes() for m in (installed_packages, sources))
    return hashlib.sha256(f"{installed_packages.repository_urls()}".encode() + code).hexdigest()
