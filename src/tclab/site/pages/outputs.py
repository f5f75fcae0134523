"""Render a snippet on a page: its source, and the outputs of the chosen runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from tclab import render
from tclab.errors import PageError, TclabError
from tclab.model import Artifact, Chain, Report, Run, Snippet, Text, Version, slug, source_lines
from tclab.render import parts
from tclab.render.escape import NEWLINE, NOTHING, SPACE, Html, esc, join, tag
from tclab.render.options import Options
from tclab.render.viewer.panes import Panes
from tclab.site.pages import code_focus, downloads, fragments, run_groups
from tclab.site.pages.captions import caption_html
from tclab.site.pages.rendering import RunningBlock
from tclab.site.pages.run_groups import RunGroup
from tclab.site.pages.site import reports

#: Artifact name → whether it is folded; other artifacts are folded if long.
Folds = Mapping[str, bool]


def snippet_section(
    block: RunningBlock,
    snippet: Snippet,
    runs: Sequence[Run],
    fold: bool,
    focus_names: Sequence[str] | None,
    *,
    caption: bool = True,
    folds: Folds = MappingProxyType({}),
) -> Html:
    """Render title, caption, source and every output as one section with an anchor."""
    ident = slug(snippet.name)
    words = caption_html(snippet) if caption else NOTHING
    code = source_listing(block, snippet, None, fold, focus_names)
    below = [code, *_all_figures(block, snippet, runs, folds)]
    body = join([_render_title(block, snippet, ident), words, *below], NEWLINE)
    return tag("section", body, class_="tclab-snippet", id=ident, aria_label=snippet.title)


def _render_title(block: RunningBlock, snippet: Snippet, ident: str) -> Html:
    """Return the snippet's title with a link to it; empty if the heading above is the same."""
    if _have_same_words(snippet.title, block.heading):
        return NOTHING
    anchor = tag("a", esc("¶"), class_="headerlink", href=f"#{ident}", title="Permanent link")
    return tag("p", parts.prose(snippet.title), anchor, class_="tclab-title")


def _have_same_words(title: str, heading: str) -> bool:
    """Return whether two titles have the same words."""
    return bool(title) and slug(title) == slug(heading)


def _all_figures(
    block: RunningBlock, snippet: Snippet, runs: Sequence[Run], folds: Folds
) -> list[Html]:
    """Return printed output, artifacts and the declared error. Raises PageError if there is nothing
    to show.
    """
    _check_names(block, snippet, runs, [*folds])
    if any(map(all_outputs, runs)):
        return [
            _grouped_figures(
                block, snippet, runs, all_outputs, folds=folds, title_above=snippet.title
            )
        ]
    cause = f"{snippet.name} shows nothing and prints nothing"
    raise PageError(block.place, cause, "add tclab.show(...) to it, or use only its code(...)")


def source_listing(
    block: RunningBlock,
    snippet: Snippet,
    lines: tuple[int, int] | None,
    fold: bool,
    focus_names: Sequence[str] | None = None,
) -> Html:
    """Render the source with line anchors and downloads. `focus_names` are the definitions that
    stay open; the other lines are folded. `code_focus.focus_ranges` says what
    None and an empty sequence select.
    """
    prefix = block.page.unique_id(f"src-{snippet.name}")
    span = _line_range(block, snippet, lines)
    # if the page chose the code, nothing of it is folded
    chosen_by_page = lines is not None or focus_names is not None
    focus_lines = (
        [] if fold or lines else code_focus.focus_ranges(snippet, span, focus_names, block.place)
    )
    html = fragments.source(
        snippet, span, prefix, fold or (False if chosen_by_page else None), focus_lines
    )
    name = tag("code", parts.allow_underscore_breaks(f"snippets/{snippet.name}.py"))
    copy = tag("button", esc("copy"), class_="tclab-copy", type="button")
    links = tag("span", copy, SPACE, _render_downloads(block, snippet), class_="tclab-downloads")
    bar = tag("p", name, links, class_="tclab-bar", data_search_exclude="")
    # Material's copy button would copy only a part, so the bar has a button of its own.
    return tag("div", bar, html, class_="tclab-listing no-copy")


def _render_downloads(block: RunningBlock, snippet: Snippet) -> Html:
    """Return links to the downloads: script, notebook, and the local files that they import."""
    paths = {".py": downloads.script_path(snippet), ".ipynb": downloads.notebook_path(snippet)}
    paths |= {path.rsplit("/", 1)[1]: path for path, _ in downloads.included_files(snippet)}
    links = (
        tag("a", esc(name), href=block.page.link(path), download=True, title=f"Download {name}")
        for name, path in paths.items()
    )
    return join(links, SPACE)


def _line_range(
    block: RunningBlock, snippet: Snippet, lines: tuple[int, int] | None
) -> tuple[int, int]:
    length = len(source_lines(snippet.source))
    if lines is None:
        return fragments.code_start(snippet), length
    first, last = lines
    if not 1 <= first <= last <= length:
        cause = f"lines {first} to {last} are not in {snippet.name}, which has {length}"
        raise PageError(block.place, cause, f"choose lines=(first, last) within 1 to {length}")
    return first, last


def named_artifacts(
    block: RunningBlock,
    snippet: Snippet,
    runs: Sequence[Run],
    names: Sequence[str] | None,
    fold: bool | None,
    view: str | None,
) -> Html:
    """Render the artifacts called `names`, or all artifacts if it is None. Runs without such an
    artifact are left out.
    """
    if not any(run.artifacts for run in runs):
        cause = f"{snippet.name} shows no artifact"
        raise PageError(block.place, cause, "add tclab.show(...) to it, or use stdout(...)")
    _check_names(block, snippet, runs, names or ())

    def select(run: Run) -> list[Artifact]:
        return [a for a in run.artifacts if names is None or a.name in names]

    return _grouped_figures(block, snippet, runs, select, fold, view, title_above=block.heading)


def printed_output(
    block: RunningBlock, snippet: Snippet, runs: Sequence[Run], fold: bool | None
) -> Html:
    """Render the standard output of the runs."""
    if not any(run.stdout.strip() for run in runs):
        cause = f"{snippet.name} prints nothing"
        raise PageError(block.place, cause, "show an artifact, or only its code(...)")
    return _grouped_figures(block, snippet, runs, stdout_artifacts, fold)


def all_outputs(run: Run) -> list[Artifact]:
    """Return all outputs of a run: printed text, artifacts, and the declared error."""
    return [*stdout_artifacts(run), *run.artifacts, *_error_artifacts(run)]


def stdout_artifacts(run: Run) -> list[Artifact]:
    return [Text("Printed", "stdout", run.stdout)] if run.stdout.strip() else []


def _error_artifacts(run: Run) -> list[Artifact]:
    return [Text("Ends with", "raised", run.raised)] if run.raised else []


def _check_names(
    block: RunningBlock, snippet: Snippet, runs: Sequence[Run], names: Sequence[str]
) -> None:
    known = list(dict.fromkeys(a.name for run in runs for a in run.artifacts))
    for name in names:
        if name not in known:
            cause = f"{snippet.name} shows no {name!r}"
            raise PageError(block.place, cause, f"it shows: {', '.join(known)}")


# --------------------------------------------------------------------------- runs


def _grouped_figures(
    block: RunningBlock,
    snippet: Snippet,
    runs: Sequence[Run],
    artifacts_of: Callable[[Run], list[Artifact]],
    fold: bool | None = None,
    view: str | None = None,
    *,
    folds: Folds = MappingProxyType({}),
    title_above: str = "",
) -> Html:
    """Render the runs' artifacts with stamps. Equal artifacts are shown once, different ones in
    tabs.

    A title that repeats the title above it is left out.
    """

    def panel(group: RunGroup, searched: bool) -> Html:
        titles = [title_above, *(a.title for a in group.artifacts)]
        figures = [
            _render_figure(block, group.runs[0], a, folds.get(a.name, fold), view, title, searched)
            for a, title in zip(group.artifacts, titles)
        ]
        html = join([*figures, render.stamp(*group.runs)], NEWLINE)
        return html if searched else tag("div", html, data_search_exclude="")

    pieces = []
    for groups in run_groups.group_artifacts(runs, artifacts_of):
        chosen = next((n for n, group in enumerate(groups) if runs[0] in group.runs), 0)
        panels = [panel(group, number == chosen) for number, group in enumerate(groups)]
        pieces.append(_render_tabs(block, snippet, groups, panels, chosen))
        title_above = groups[chosen].artifacts[-1].title
    return join(pieces, NEWLINE)


def _render_tabs(
    block: RunningBlock,
    snippet: Snippet,
    groups: Sequence[RunGroup],
    panels: Sequence[Html],
    chosen_index: int,
) -> Html:
    """Put each group of runs into a tab; a single group needs no tabs."""
    if len(panels) == 1:
        return panels[0]
    where = Options(prefix=block.page.unique_id(f"{snippet.name}-runs"))
    names = [runs_label(group.runs) for group in groups]
    return parts.tabs(
        "Which machine",
        _number_equal_names([*zip(names, panels)]),
        where,
        chosen_index=chosen_index,
    )


def _render_figure(
    block: RunningBlock,
    run: Run,
    artifact: Artifact,
    fold: bool | None,
    view: str | None,
    title_above: str,
    searched: bool,
) -> Html:
    """Render one artifact with its title; store the anchor of the page's first chain."""
    page = block.page
    prefix = page.unique_id(f"{run.snippet}-{run.environment}-{artifact.name}")
    titled = not _have_same_words(artifact.title, title_above)
    if isinstance(artifact, Report):
        return reports.figure(page, artifact, prefix)
    try:
        html = fragments.figure(page, run, artifact, prefix, fold, view, titled, searched)
    except TclabError as error:  # for example, a view that graphs do not have
        raise PageError(block.place, error.cause, error.next_step) from None
    if isinstance(artifact, Chain) and artifact.panes and not page.code_anchor:
        page.code_anchor = Panes(artifact, Options(prefix)).id(0)
    return html


def runs_label(runs: Iterable[Run]) -> str:
    """Return the tab's label: each device with its PyTorch versions, such as ``CPU · torch
    2.13.0``.
    """
    versions: dict[str, set[Version]] = {}
    for first in (run.figure_sources[0] for run in runs):
        versions.setdefault(_short_gpu(first.gpu) or "CPU", set()).add(first.version)
    names = {
        device: ", ".join(v.public for v in sorted(found)) for device, found in versions.items()
    }
    return "; ".join(f"{device} · torch {listed}" for device, listed in names.items())


def _short_gpu(name: str) -> str:
    """Return the GPU's name without its maker: ``H200`` for ``NVIDIA H200``."""
    return name.removeprefix("NVIDIA ").split(",")[0].strip()


def _number_equal_names(panels: list[tuple[str, Html]]) -> list[tuple[str, Html]]:
    """Number the tabs that have the same name."""
    counts: dict[str, int] = {}
    numbered = []
    for name, html in panels:
        counts[name] = counts.get(name, 0) + 1
        numbered.append((name if counts[name] == 1 else f"{name} ({counts[name]})", html))
    return numbered
