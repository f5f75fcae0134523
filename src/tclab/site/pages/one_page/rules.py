"""Check the rules for a page that the build does not check; each violation is a PageError.

The build itself checks blocks, claims, values and references.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tclab.errors import PageError
from tclab.site.pages.prose import statements
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.site import flow

#: Pages about this project, which its tests check. All other pages teach torch.compile.
PROJECT_PAGES = frozenset(
    f"docs/{name}.md"
    for name in (
        "contributing",
        "how-this-site-is-made",
        "maintaining",
        "more-than-one-machine",
        "the-code",
    )
)

#: The folder of the chapters on the stages of the compiler.
_CHAPTERS = "docs/pipeline/"

_LOOKS_LIKE_BLOCK = re.compile(r"exec=|^\s*from tclab\.site\.pages import")
#: The title, the question in one line, and then the answer.
_OPENING = re.compile(r"\A\s*#+ [^\n]*\n+> [^\n]*\n\n+(?!After (?:reading )?this page)")
#: Pages that open otherwise: the home page, what changed between versions, and the labs.
_OTHER_OPENINGS = ("docs/index.md", "docs/changes/", "docs/labs/")


def text_problems(page: PageText) -> list[PageError]:
    """Return the errors in the text of a page."""
    rules = (
        _check_fences,
        _check_headings,
        _check_opening,
        _check_chapter,
        _check_numbers,
        _check_universal,
    )
    return [problem for rule in rules for problem in rule(page)]


def _check_fences(page: PageText) -> Iterator[PageError]:
    """Check that lines meant for a block are in an executed fence, or quoted in another fence."""
    opening = {fence.line for fence in page.fences if not fence.is_executed}
    for number, line in page.lines:
        if _LOOKS_LIKE_BLOCK.search(line) and (
            number not in page.fenced_lines or number in opening
        ):
            cause = "this is meant to be a block, and stands in no fence that runs"
            step = 'open the fence with: ```python exec="1" html="1"'
            yield PageError(f"{page.page}:{number}", cause, step)


def _check_headings(page: PageText) -> Iterator[PageError]:
    if not page.headings or page.headings[0].level != 1:
        cause, step = "the page does not begin with its title", "write one: # Title"
        yield PageError(f"{page.page}:{page.body_line}", cause, step)
    for before, after in itertools.pairwise(page.headings):
        if after.level > before.level + 1:
            cause = f"a heading of level {after.level} below one of level {before.level}"
            step = f"write {'#' * (before.level + 1)} {after.words}"
            yield PageError(f"{page.page}:{after.line}", cause, step)


def _check_opening(page: PageText) -> Iterator[PageError]:
    """Check that a page begins with the question that it answers, and the answer."""
    body = "\n".join(line for number, line in page.lines if number >= page.body_line)
    if not page.page.startswith(_OTHER_OPENINGS) and not _OPENING.match(body):
        cause = "a page begins with the question that it answers, in one line, and the answer"
        step = "write the question right below the title: > Why …? and the answer below it"
        yield PageError(f"{page.page}:{page.body_line}", cause, step)


def _check_chapter(page: PageText) -> Iterator[PageError]:
    """Check that a chapter names its place in the compiler."""
    if page.page.startswith(_CHAPTERS) and not page.meta.get("flow"):
        cause = f"a page of {_CHAPTERS} names its place in the compiler, and this one does not"
        step = f"write flow: NAME in its front matter; the names: {', '.join(flow.BOXES)}"
        yield PageError(f"{page.page}:1", cause, step)


def _check_numbers(page: PageText) -> Iterator[PageError]:
    chosen = set(map(str, page.meta.get("chosen") or ()))
    for line, number in statements.typed_numbers(page):
        if number not in chosen:
            cause = f"{number!r} is typed, and a run could have made it"
            step = (
                "take it from a run: [](value:topic/snippet#table/row/column); a number that "
                "people chose is listed in the front matter, under chosen:"
            )
            yield PageError(f"{page.page}:{line}", cause, step)
    typed = {number for _, number in statements.typed_numbers(page)}
    for number in sorted(chosen - typed):
        cause = f"the front matter lists {number!r} under chosen:, and no sentence has it"
        yield PageError(f"{page.page}:1", cause, "take it out of the list")


def _check_universal(page: PageText) -> Iterator[PageError]:
    if page.page in PROJECT_PAGES:
        return
    for sentence in page.statements:
        if words := [word for word in sentence.universal_words if word in statements.STRONG]:
            cause = f"no claim carries {words[0]!r} of: {sentence.text}"
            step = "bind the word to a claim that varies what it ranges over, or take it out"
            yield PageError(f"{page.page}:{sentence.line}", cause, step)


def failing_examples(page: PageText, root: Path) -> Iterator[PageError]:
    """Run each Python fence that the build does not run; yield an error for each that fails."""
    for fence in page.fences:
        if fence.language in ("python", "py") and not fence.is_executed:
            command = [sys.executable, "-c", fence.code]
            result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
            if result.returncode:
                last = (result.stderr.strip().splitlines() or [f"status {result.returncode}"])[-1]
                step = "correct it; what is no whole program is fenced as text"
                cause = f"the example does not run: {last}"
                yield PageError(f"{page.page}:{fence.line}", cause, step)


def private_folders(page: PageText, html: str, root: Path) -> Iterator[PageError]:
    """Yield an error for each folder of this machine that the built page contains."""
    for folder in (str(root), f"{Path.home()}/", "/tmp/", "site-packages/"):
        if folder in html:
            cause = f"the built page has {folder!r}, a folder of this machine"
            step = "have the snippet that shows it leave the folder out"
            yield PageError(f"{page.page}:1", cause, step)
