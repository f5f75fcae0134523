"""Execute the blocks of pages: the engine that markdown-exec and the tests share.

A block runs in a fresh namespace. What it prints, and what the functions of
`tclab.page` emit, is its output: HTML, taken as it is. Whatever goes wrong in a
block, `sys.exit` included, is a PageError with the page's line; a build collects
them in `failures` and cannot end well while there are any.
"""

from __future__ import annotations

import io
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tclab.errors import PageError, TclabError
from tclab.model import slug
from tclab.page.reference.groups import Group
from tclab.render import Html, Keyword


@dataclass
class Page:
    """The page whose blocks run, one after the other.

    `path` is relative to the project's root, `url` to the site's. `anchors` maps the
    file of each listing on the page to the prefix of its lines' ids, `headings` the line of
    each executable fence to the heading it stands under. What the blocks put aside for the
    site: `keywords` and `groups` of a reference for its search, `files` (path in the site → HTML).
    `code` is the anchor of the first pane of the first chain.
    """

    path: str
    url: str = ""
    anchors: Mapping[str, str] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)
    headings: dict[int, str] = field(default_factory=dict)
    keywords: list[Keyword] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    code: str = ""

    def unique(self, base: str) -> str:
        """An id no other block of the page has: `base` as a slug, numbered from its second use."""
        name = slug(base)
        self.taken[name] += 1
        return name if self.taken[name] == 1 else f"{name}--{self.taken[name]}"

    def link(self, target: str) -> str:
        """From this page to `target`, a path from the site's root."""
        return "../" * self.url.count("/") + target


@dataclass
class Block:
    """The block that is running: its place, and what it has put out so far."""

    on: Page
    line: int  # of the opening fence
    output: io.StringIO = field(default_factory=io.StringIO)

    @property
    def page(self) -> str:
        return self.on.path

    @property
    def place(self) -> str:
        """``page:line`` of the statement of the block that is running now."""
        for frame, number in _frames():
            if frame == self.filename:
                return f"{self.page}:{self.line + number}"
        return f"{self.page}:{self.line}"

    @property
    def heading(self) -> str:
        """The heading of which this is the first block, as written; '' for a later one."""
        return self.on.headings.get(self.line, "")

    @property
    def filename(self) -> str:
        return f"<block {self.page}:{self.line}>"

    def emit(self, html: Html) -> None:
        """Add HTML to the page."""
        self.output.write(html + "\n")


_current: ContextVar[Block | None] = ContextVar("block", default=None)


def current() -> Block:
    """The block that is running. PageError outside one."""
    block = _current.get()
    if block is None:
        cause = "the functions of tclab.page work in a page's executable block only"
        raise PageError("tclab.page", cause, "in a script use tclab.show")
    return block


def execute(code: str, block: Block) -> str:
    """Run `code` as the block; its output. PageError with the failing line for any failure."""
    token = _current.set(block)
    try:
        with _own_print(block) as namespace:
            exec(compile(code, block.filename, "exec", optimize=0), namespace)
    except KeyboardInterrupt:
        raise
    except TclabError as error:
        raise _placed(error, block) from error
    except BaseException as error:  # SystemExit too: a block must not end the build in silence
        raise _as_page_error(error, block) from error
    finally:
        _current.reset(token)
    if not block.output.getvalue().strip():
        raise PageError(f"{block.page}:{block.line}", "the block puts nothing on the page",
                        "show something, or take the block out")  # fmt: skip
    return block.output.getvalue()


@contextmanager
def _own_print(block: Block) -> Iterator[dict[str, Any]]:
    """A fresh namespace whose `print` writes to the page."""

    def to_page(
        *values: object, sep: str = " ", end: str = "\n", file: Any = None, **_: Any
    ) -> None:
        (file or block.output).write(sep.join(str(v) for v in values) + end)

    yield {"__name__": f"block_{block.line}", "print": to_page}


def _placed(error: TclabError, block: Block) -> TclabError:
    """The error itself if it says where on the page it happened, else one that does."""
    if error.place.startswith(f"{block.page}:"):
        return error
    line = _line_of(error, block)
    return PageError(f"{block.page}:{line}", f"{error.place}: {error.cause}", error.next_step)


def _as_page_error(error: BaseException, block: Block) -> PageError:
    place = f"{block.page}:{_line_of(error, block)}"
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    if isinstance(error, SystemExit):
        text = f"the block called sys.exit({error.code!r})"
    return PageError(place, text, "correct the block; what it computes belongs into a snippet")


def _line_of(error: BaseException, block: Block) -> int:
    """The page's line that raised: the innermost frame that lies in the block."""
    if isinstance(error, SyntaxError) and error.filename == block.filename:
        return block.line + (error.lineno or 0)
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f.lineno or 0 for f in frames if f.filename == block.filename]
    return block.line + (inside[-1] if inside else 0)


def _frames() -> Iterator[tuple[str, int]]:
    """(file name, line) of the running frames, innermost first."""
    for frame, line in traceback.walk_stack(None):
        yield frame.f_code.co_filename, line
