"""Read a page's Markdown once: its bindings, the snippets it uses, its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from mkdocs.utils import meta

from tclab.errors import PageError
from tclab.site.labs.source import Lab
from tclab.site.pages.prose import blocks, sentences, statements
from tclab.site.pages.prose.blocks import Block, Call
from tclab.site.pages.prose.markdown import MarkdownText
from tclab.site.pages.prose.sentences import Sentence, Value
from tclab.site.pages.prose.statements import Statement


class PageText(MarkdownText):
    """The parsed text of a page or of a lab's cell.

    Each part is read at its first use. A part that cannot be read raises PageError, which names the
    line.
    """

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The values of the page's front matter."""
        return dict(meta.get_data(self.text)[1])

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences that are bound to claims."""
        return tuple(sentences.bound_sentences(self))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The numbers that the text takes from runs."""
        return tuple(sentences.values_in(self))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The executable fences."""
        return tuple(blocks.read_blocks(self))

    @cached_property
    def uses(self) -> tuple[Call, ...]:
        """The calls in the text's blocks that ask for a snippet."""
        return tuple(call for block in self.blocks for call in block.calls if call.snippet)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """All sentences that state something, bound or not."""
        return tuple(statements.statements(self, self.blocks))


def read_pages(docs: Path, root: Path) -> Iterator[PageText]:
    """Read all Markdown pages under `docs`. Raises PageError for a page that cannot be read."""
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(root).as_posix()
        try:
            yield PageText(name, path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError as error:
            raise PageError(name, f"cannot be read: {error}", "save it as UTF-8") from None
        except OSError as error:
            step = "see to it that it is a file that you may read"
            raise PageError(name, f"cannot be read: {error.strerror}", step) from None


def read_lab_cells(lab: Lab) -> Iterator[PageText]:
    """Read the Markdown cells of a lab, one text for each."""
    for cell in lab.cells:
        if cell.kind == "markdown":
            yield PageText(lab.snippet.file, cell.text, cell.line + 1)
