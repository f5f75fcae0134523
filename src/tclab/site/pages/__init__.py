"""Define the functions that pages call in their executable blocks; never import torch.

    ```python exec="1" html="1"
    from tclab.site.pages import snippet
    snippet("graph_breaks/print_breaks_the_graph")
    ```

Each function returns the HTML that the block puts on the page; `prose/blocks.py` describes the
same functions for code that only reads pages. All runs are ready before a page is rendered. An
unknown name is a PageError with the page's line.
"""

from __future__ import annotations

from collections.abc import Sequence

from tclab.model import Run, Snippet
from tclab.render import Html
from tclab.site.pages import outputs, overviews, rendering, state
from tclab.site.pages.reference import call_graph as called
from tclab.site.pages.reference import entries as reference
from tclab.site.pages.reference import machine_code, name_changes
from tclab.site.pages.site import verdicts as judged

__all__ = [
    "beliefs",
    "calls",
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
) -> Html:
    """Show title and caption, code with downloads, then every artifact of the chosen runs.

    `focus` names the functions, classes and values of the code that stay open; the rest is folded.
    By default the functions that the snippet compiles stay open, and all code if `focus` is empty.
    Pass `caption=False` if the page's own text says the same. Long artifacts are folded, except
    those named in `opened`; artifacts named in `closed` are folded even if short.
    """
    block, example, runs = _find(name)
    folds = dict.fromkeys(opened, False) | dict.fromkeys(closed, True)
    return outputs.snippet_section(block, example, runs, fold, focus, caption=caption, folds=folds)


def code(
    name: str,
    lines: tuple[int, int] | None = None,
    fold: bool = False,
    focus: Sequence[str] | None = None,
) -> Html:
    """Show the snippet's source with its downloads; `lines` (first, last) selects a part.

    `focus` names the definitions that stay open, as in `snippet`.
    """
    block, example, _ = _find(name)
    return outputs.source_listing(block, example, lines, fold, focus)


def show(
    name: str,
    artifact: str | Sequence[str] | None = None,
    fold: bool | None = None,
    as_: str | None = None,
) -> Html:
    """Show one artifact of the chosen runs, several, or all (None), with the stamp of each run.

    Long artifacts are folded; `fold=True` folds all, `fold=False` none. `as_` selects a view:
    "picture", "table" or "text" for a graph (by default all three, in tabs), "figures" for a table
    (its numbers in large type).
    """
    block, example, runs = _find(name)
    wanted = [artifact] if isinstance(artifact, str) else artifact
    return outputs.named_artifacts(block, example, runs, wanted, fold, as_)


def stdout(name: str, fold: bool | None = None) -> Html:
    """Show the printed output of the chosen runs with their stamps; `fold` works as in `show`."""
    block, example, runs = _find(name)
    return outputs.printed_output(block, example, runs, fold)


def entries(name: str, table: str, versions: bool = True, fixed_breaks: bool = False) -> Html:
    """Show a table of the snippet's run as a reference that readers can filter and search.

    Each row links to the chapters that show its name and, unless `versions` is False, lists the
    PyTorch versions that have it. For a table of graph breaks, `fixed_breaks` adds the breaks that
    the book fixes, with the code before and after.
    """
    block, _, runs = _find(name)
    return reference.html(block, runs, table, versions, fixed_breaks)


def calls(name: str, table: str) -> Html:
    """Draw the call graph of a table (function, caller, stage, place) in calling order."""
    block, _, runs = _find(name)
    return called.html(block, runs[0], table)


def instructions(stage: str) -> Html:
    """List the instructions of a stage (``ptx`` or ``sass``) that occur on the site."""
    block = rendering.current_block()
    return machine_code.html(block, stage)


def versions() -> Html:
    """List the names that each version of PyTorch added to the reference and dropped from it."""
    return name_changes.html(state.build().known_names)


def overview() -> Html:
    """Show a table of every run on the site: its snippet, machine, day, time and memory."""
    return overviews.runs_table(state.build().book)


def verdicts(name: str) -> Html:
    """Show a table: does each belief that the snippet tests hold, in each version of PyTorch?

    Each belief must be a heading of the page. Raises PageError, which names the belief, for one
    without a heading.
    """
    block, _, runs = _find(name)
    page = state.build().book.pages[block.page.path]
    return judged.snippet_table(block, page, name, runs)


def beliefs() -> Html:
    """List every belief that a page of the site judges, with its verdicts and a link to it."""
    block = rendering.current_block()
    return judged.all_beliefs_table(block, state.build().book)


def _find(name: str) -> tuple[rendering.RunningBlock, Snippet, tuple[Run, ...]]:
    block, book = rendering.current_block(), state.build().book
    example = book.snippet(name, block.place)
    return block, example, book.select_runs(name, block.place)
