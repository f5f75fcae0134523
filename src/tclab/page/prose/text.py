"""A page's Markdown, read once: its bindings to runs, the snippets it uses, its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from tclab.labs.source import Lab
from tclab.page.prose import sentences, unbound, uses
from tclab.page.prose.markdown import MarkdownText
from tclab.page.prose.sentences import Sentence, Value
from tclab.page.prose.unbound import Written
from tclab.page.prose.uses import Use


class PageText(MarkdownText):
    """What is written on a page, or in a lab's cell. Each part is read when first asked for;
    PageError names the line of what cannot be read.
    """

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences that are bound to claims."""
        return tuple(sentences.bound(self))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The numbers that are taken from runs."""
        return tuple(sentences.values(self))

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The calls that ask for a snippet."""
        return tuple(uses.of(self))

    @cached_property
    def prose(self) -> tuple[Written, ...]:
        """Every sentence that states something, bound or not."""
        return tuple(unbound.prose(self))


def in_folder(docs: Path, root: Path) -> Iterator[PageText]:
    """Every Markdown page under `docs`."""
    for path in sorted(docs.rglob("*.md")):
        text = path.read_text(encoding="utf-8-sig")
        yield PageText(path.relative_to(root).as_posix(), text)


def in_lab(lab: Lab) -> Iterator[PageText]:
    """The prose of a lab, a text for each of its cells of Markdown."""
    for cell in lab.cells:
        if cell.kind == "markdown":
            yield PageText(lab.snippet.file, cell.text, cell.line + 1)
