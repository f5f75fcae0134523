"""What pages call in their executable blocks; never imports torch.

    ```python exec="1" html="1"
    from tclab.page import snippet
    snippet("graph_breaks/print_breaks_the_graph")
    ```

Each function puts HTML on the page. The runs were made, or read from recordings,
before the page is rendered; a name that is not there is a PageError with the
page's line.
"""

from __future__ import annotations

from collections.abc import Sequence

from tclab.model import Run, Snippet
from tclab.page import blocks, outputs, overviews, state
from tclab.page.reference import calls as called
from tclab.page.reference import changed, machine_code
from tclab.page.reference import entries as reference
from tclab.page.site import changes as changed_words
from tclab.page.site import verdicts as judged

__all__ = [
    "awaited",
    "beliefs",
    "calls",
    "changes",
    "code",
    "entries",
    "instructions",
    "overview",
    "show",
    "snippet",
    "stdout",
    "verdicts",
    "versions",
]


def snippet(
    name: str,
    fold: bool = False,
    focus: Sequence[str] | None = None,
    *,
    caption: bool = True,
    opened: Sequence[str] = (),
    closed: Sequence[str] = (),
) -> None:
    """Title and caption, code with downloads, then every artifact of the chosen runs.

    Of the code, `focus` (functions, classes, values by name) is shown and the rest folded; by
    default what the snippet gives to the compiler, all of it for an empty `focus`. `caption` is
    False where the page's own text says what the caption does. Artifacts that are long are folded,
    but for those named in `opened`; those in `closed` are folded though they are short.
    """
    block, example, runs = _find(name)
    folds = dict.fromkeys(opened, False) | dict.fromkeys(closed, True)
    block.emit(outputs.whole(block, example, runs, fold, focus, caption=caption, folds=folds))


def awaited(name: str, focus: Sequence[str] | None = None) -> None:
    """As `snippet`, for one that needs a machine which has not recorded it yet: until then its
    title, caption and code, and a note of what it waits for. Sentences bound to it say so, too.
    """
    block, book = blocks.current(), state.build().book
    example = book.snippet(name, block.place)
    if runs := book.runs.get(name, ()):
        block.emit(outputs.whole(block, example, runs, fold=False, focus=focus))
    else:
        block.emit(outputs.without_runs(block, example, book.plan.live(example).why, focus))


def code(
    name: str,
    lines: tuple[int, int] | None = None,
    fold: bool = False,
    focus: Sequence[str] | None = None,
) -> None:
    """The snippet's source with its downloads; `lines` (first, last) shows a part."""
    block, example, _ = _find(name)
    block.emit(outputs.source(block, example, lines, fold, focus))


def show(
    name: str,
    artifact: str | Sequence[str] | None = None,
    fold: bool | None = None,
    as_: str | None = None,
) -> None:
    """One artifact of the chosen runs, several, or all (None), and the stamp of each run.

    What is long is folded; with `fold` True everything is, with False nothing.
    `as_` is a view: of a graph picture, table or text (by default all three, in tabs), of a table
    figures (its numbers, large).
    """
    block, example, runs = _find(name)
    wanted = [artifact] if isinstance(artifact, str) else artifact
    block.emit(outputs.artifacts(block, example, runs, wanted, fold, as_))


def stdout(name: str, fold: bool | None = None) -> None:
    """What the snippet printed in the chosen runs, each run stamped; `fold` as of `show`."""
    block, example, runs = _find(name)
    block.emit(outputs.printed(block, example, runs, fold))


def entries(name: str, table: str, versions: bool = True, mended: bool = False) -> None:
    """A table of the snippet's run as a reference: filtered as one types, each row known to the
    search, with the chapters that show it and, unless `versions` is off, the versions that have it.
    Of a table of graph breaks, `mended` adds those that the book shows, before and after.
    """
    block, _, runs = _find(name)
    block.emit(reference.html(block, runs, table, versions, mended))


def calls(name: str, table: str) -> None:
    """A drawing of who calls whom: of a table (function, caller, stage, place) in calling order."""
    block, _, runs = _find(name)
    block.emit(called.html(block, runs[0], table))


def instructions(stage: str) -> None:
    """The instructions of a stage (``ptx`` or ``sass``) that occur on the site, in a line each."""
    block = blocks.current()
    block.emit(machine_code.html(block, stage))


def versions() -> None:
    """What each version of PyTorch added to the reference, and what it dropped."""
    blocks.current().emit(changed.html(state.build().known_names))


def overview() -> None:
    """A table of every snippet of the site: what it needs, which runs are shown, their cost."""
    blocks.current().emit(overviews.table(state.build().book))


def verdicts(name: str) -> None:
    """What a snippet on beliefs judged, the versions of PyTorch it was run on side by side.

    Each belief is a heading of the page. PageError names one that is not.
    """
    block, _, runs = _find(name)
    page = state.build().book.pages[block.page]
    block.emit(judged.of_snippet(block, page, name, runs))


def beliefs() -> None:
    """Every belief that a page of the site judges, with its verdicts and a link to it."""
    block = blocks.current()
    block.emit(judged.of_all(block, state.build().book))


def changes(name: str) -> None:
    """The sentences and beliefs of the site of which a snippet on a step from one PyTorch to the
    next found that they came true or became false, each a link to where it stands.
    """
    block, _, runs = _find(name)
    block.emit(changed_words.html(block, state.build().book, runs[0]))


def _find(name: str) -> tuple[blocks.Block, Snippet, tuple[Run, ...]]:
    block, book = blocks.current(), state.build().book
    example = book.snippet(name, block.place)
    return block, example, book.runs_of(name, block.place)
