"""Define the options of rendering: folds, ids, links to source lines, delivery."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tclab.render.delivery import Delivery
from tclab.render.escape import Html, esc, identifier, join, markup, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tclab.model import SourceLine

#: Listings and tables with more lines or rows are folded.
FOLD_LINES = 15

_PYTORCH = "https://github.com/pytorch/pytorch"


@dataclass(frozen=True)
class Options:
    """The options for rendering an artifact. `prefix` makes ids unique in a page; `view` picks one
    view.

    `fold` is None to fold long parts, True to fold everything, False to fold nothing. `sources`
    maps a file to the prefix of its listing on this page; source lines of these files become links.
    `torch_git` is the commit for links to PyTorch's own files. `root` is the relative path from the
    page to the site's root, such as ``../``; None without a site. `delivery` decides where long
    parts are kept. With `plain`, the code of a chain is plain text, which the page's script
    colours.
    """

    prefix: str = ""
    view: str | None = None
    fold: bool | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    torch_git: str = ""
    root: str | None = None
    delivery: Delivery = field(default_factory=Delivery)
    plain: bool = False

    def id(self, *parts: object) -> Html:
        """Return an id in this artifact: the prefix and the parts, joined by hyphens."""
        identifiers = (identifier(str(part)) for part in (self.prefix, *parts))
        return join((part for part in identifiers if part), markup("-"))

    def for_part(self, *parts: object) -> Options:
        """Return the same options for a part of this artifact, with a longer prefix."""
        return replace(self, prefix=self.id(*parts))

    def folds(self, lines: int) -> bool:
        """Return whether a part with this number of lines or rows is folded."""
        return lines > FOLD_LINES if self.fold is None else self.fold


def commit_url(git: str, path: str = "", line: int = 0) -> str:
    """Return the address of a commit, or of a file's line in it, in PyTorch's repository; '' if
    `git` is not a commit hash.
    """
    if not (7 <= len(git) <= 40 and set(git) <= set("0123456789abcdef")):
        return ""
    if not path:
        return f"{_PYTORCH}/commit/{git}"
    return f"{_PYTORCH}/blob/{git}/{path}#L{line}"


def source_url(line: SourceLine, options: Options) -> str:
    """Return the address of a source line: in its listing on this page, or in PyTorch's repository,
    or ''.
    """
    if line.file in options.sources:
        return f"#{identifier(options.sources[line.file])}-L{line.line}"
    if line.file.startswith("torch/") and line.file.endswith(".py"):
        return commit_url(options.torch_git, line.file, line.line)
    return ""


def place_link(line: SourceLine | None, options: Options) -> Html:
    """Draw a source line as ``file:line``, as a link if it has an address. A line of the page's
    first file is ``line 7``; the other files of the page are named without their folder.
    """
    if line is None:
        return markup('<span class="tclab-none">–</span>')
    label = str(line)
    if line.file in options.sources:
        is_first = line.file == next(iter(options.sources))
        label = f"line {line.line}" if is_first else label.rpartition("/")[2]
    url = source_url(line, options)
    if not url:
        return tag("code", esc(label), class_="tclab-place")
    return tag("a", esc(label), class_="tclab-place", href=url, title=f"{line} {line.code}".strip())
