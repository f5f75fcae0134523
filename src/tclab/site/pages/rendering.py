"""Define the state of a page during its rendering, and the block that is running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tclab.errors import PageError
from tclab.model import slug
from tclab.render import Keyword
from tclab.site.pages.prose.blocks import Block
from tclab.site.pages.reference.groups import Group


@dataclass
class Page:
    """The page whose blocks run, one after the other.

    `path` is relative to the project's root, `url` to the site's. `anchors` maps the file of each
    listing on the page to the prefix of its lines' ids. The blocks add to `keywords` and `groups`,
    which the search reads, and to `files` (path in the site → HTML). `code_anchor` is the anchor of
    the first pane of the first chain.
    """

    path: str
    url: str = ""
    anchors: Mapping[str, str] = field(default_factory=dict)
    waiting_blocks: list[Block] = field(default_factory=list)
    used_ids: Counter[str] = field(default_factory=Counter)
    keywords: list[Keyword] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    code_anchor: str = ""

    def unique_id(self, base: str) -> str:
        """Return `base` as a slug that is unique on the page, numbered from its second use."""
        name = slug(base)
        self.used_ids[name] += 1
        return name if self.used_ids[name] == 1 else f"{name}--{self.used_ids[name]}"

    def link(self, path: str) -> str:
        """Return the relative address of `path`, a path from the site's root, on this page."""
        return "../" * self.url.count("/") + path

    def next_block(self, code: str) -> Block:
        """Remove the first block with this text from `waiting_blocks` and return it.

        Raises PageError if there is none. White space is ignored: Markdown turns tabs into spaces.
        """
        for block in self.waiting_blocks:
            if block.code.split() == code.split():
                self.waiting_blocks.remove(block)
                return block
        cause = f"an executable fence that was not read with the page: {code.strip()!r}"
        raise PageError(f"{self.path}:1", cause, AT_THE_MARGIN)


#: The next step if our reader of fences and the Markdown renderer disagree about a fence.
AT_THE_MARGIN = "a fence must stand at the margin of its paragraph, list item or tab"


@dataclass(frozen=True)
class RunningBlock:
    """The position of the running call: its page and its ``page:line``.

    `heading` is the heading above its block; '' unless the block is the first below it.
    """

    page: Page
    place: str
    heading: str = ""


_current_block: ContextVar[RunningBlock | None] = ContextVar("block", default=None)


def current_block() -> RunningBlock:
    """Return the block that is running. Raises PageError if none is."""
    block = _current_block.get()
    if block is None:
        cause = "the functions of tclab.site.pages work in a page's executable block only"
        raise PageError("tclab.site.pages", cause, "in a script use tclab.show")
    return block


@contextmanager
def make_current(block: RunningBlock) -> Iterator[None]:
    """Make `current_block` return this block inside the ``with`` statement."""
    token = _current_block.set(block)
    try:
        yield
    finally:
        _current_block.reset(token)
