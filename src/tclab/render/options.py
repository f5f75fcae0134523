"""How an artifact is to be shown, and where its source lines are on the page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tclab.render.delivery import Delivery
from tclab.render.escape import Html, esc, identifier, join, markup, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tclab.model import SourceLine

#: Longer listings and tables are folded.
FOLD_LINES = 15

_PYTORCH = "https://github.com/pytorch/pytorch"


@dataclass(frozen=True)
class Options:
    """`prefix` makes ids unique in a page; `view` picks one of a graph's views.

    `fold` None folds what is long, True everything, False nothing. `sources` maps the
    file of a source line to the prefix of its listing on this page; only those are
    linked. `torch_git` is the commit that links into PyTorch's own files point at. `root` leads
    from the page to the site's root, such as ``../``; None where there is no site. `delivery` says
    how long parts reach the reader.
    """

    prefix: str = ""
    view: str | None = None
    fold: bool | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    torch_git: str = ""
    root: str | None = None
    delivery: Delivery = field(default_factory=Delivery)

    def id(self, *parts: object) -> Html:
        """An id of this artifact."""
        named = (identifier(str(p)) for p in (self.prefix, *parts))
        return join((p for p in named if p), markup("-"))

    def under(self, *parts: object) -> Options:
        """The same options for a part of this artifact."""
        return replace(self, prefix=self.id(*parts))

    def folds(self, lines: int) -> bool:
        """Whether something of this many lines, or rows, is folded."""
        return lines > FOLD_LINES if self.fold is None else self.fold


def commit_url(git: str, path: str = "", line: int = 0) -> str:
    """PyTorch's repository at a commit: the commit, or a file's line in it. '' if no hash."""
    if not (7 <= len(git) <= 40 and set(git) <= set("0123456789abcdef")):
        return ""
    if not path:
        return f"{_PYTORCH}/commit/{git}"
    return f"{_PYTORCH}/blob/{git}/{path}#L{line}"


def source_url(line: SourceLine, options: Options) -> str:
    """Where a link to `line` goes: its listing on this page, PyTorch's repository, or ''."""
    if line.file in options.sources:
        return f"#{identifier(options.sources[line.file])}-L{line.line}"
    if line.file.startswith("torch/") and line.file.endswith(".py"):
        return commit_url(options.torch_git, line.file, line.line)
    return ""


def place(line: SourceLine | None, options: Options) -> Html:
    """A source line as ``file:line``, linked where its text can be read."""
    if line is None:
        return markup('<span class="tclab-none">–</span>')
    local = line.file in options.sources
    label = f"line {line.line}" if local else str(line)
    url = source_url(line, options)
    if not url:
        return tag("code", esc(label), class_="tclab-place")
    return tag("a", esc(label), class_="tclab-place", href=url, title=f"{line} {line.code}".strip())
