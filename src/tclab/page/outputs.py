"""The HTML of a snippet on a page: its source, and the outputs of the chosen runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from tclab import render
from tclab.errors import PageError, TclabError
from tclab.model import Artifact, Chain, Report, Run, Snippet, Text, Version, slug, source_lines
from tclab.page import alike, downloads, fragments, subjects
from tclab.page.alike import Shown
from tclab.page.blocks import Block
from tclab.page.captions import caption_html
from tclab.page.site import reports
from tclab.render import parts
from tclab.render.escape import COMMA, NEWLINE, NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options
from tclab.render.viewer.panes import Panes

#: Artifact by name → whether it is folded; others are where they are long.
Folds = Mapping[str, bool]


def whole(
    block: Block,
    snippet: Snippet,
    runs: Sequence[Run],
    fold: bool,
    focus: Sequence[str] | None,
    *,
    caption: bool = True,
    folds: Folds = MappingProxyType({}),
) -> Html:
    """Title, caption, source and every output, as one section with an anchor."""
    code = source(block, snippet, None, fold, focus)
    below = [code, *_outputs(block, snippet, runs, folds)]
    return _section(block, snippet, below, caption=caption)


def without_runs(
    block: Block, snippet: Snippet, needs: Sequence[str], focus: Sequence[str] | None
) -> Html:
    """Title, caption and source of a snippet that no machine here or recorded has run."""
    text = markup(
        "Not recorded yet. It needs {}, which the machine that built this page lacks.",
        join((tag("code", esc(need)) for need in needs), COMMA),
    )
    note = tag("p", esc("Not run"), class_="admonition-title"), tag("p", text)
    code = source(block, snippet, None, False, focus)
    return _section(block, snippet, [tag("div", *note, class_="admonition note"), code])


def _section(
    block: Block, snippet: Snippet, below: Sequence[Html], *, caption: bool = True
) -> Html:
    """Title and caption, and what is below them, with the snippet's anchor."""
    ident = slug(snippet.name)
    words = caption_html(snippet) if caption else NOTHING
    body = join([_title(block, snippet, ident), words, *below], NEWLINE)
    return tag("section", body, class_="tclab-snippet", id=ident, aria_label=snippet.title)


def _title(block: Block, snippet: Snippet, ident: str) -> Html:
    """The snippet's title with a link to it; nothing where the heading above says the same."""
    if _same(snippet.title, block.heading):
        return NOTHING
    anchor = tag("a", esc("¶"), class_="headerlink", href=f"#{ident}", title="Permanent link")
    return tag("p", parts.prose(snippet.title), anchor, class_="tclab-title")


def _same(title: str, heading: str) -> bool:
    """Whether two titles are the same words."""
    return bool(title) and slug(title) == slug(heading)


def _outputs(block: Block, snippet: Snippet, runs: Sequence[Run], folds: Folds) -> list[Html]:
    """What it printed, its artifacts, and the declared error; one of them must be there."""
    _check_names(block, snippet, runs, [*folds])
    if any(map(everything, runs)):
        return [_each(block, snippet, runs, everything, folds=folds, above=snippet.title)]
    cause = f"{snippet.name} shows nothing and prints nothing"
    raise PageError(block.place, cause, "add tclab.show(...) to it, or use only its code(...)")


def source(
    block: Block,
    snippet: Snippet,
    lines: tuple[int, int] | None,
    fold: bool,
    focus: Sequence[str] | None = None,
) -> Html:
    """The snippet's source with line anchors and the downloads; all but its subject folded."""
    prefix = block.on.unique(f"src-{snippet.name}")
    span = _range(block, snippet, lines)
    asked = lines is not None or focus is not None  # what a page asks for is never folded whole
    near = [] if fold or lines else subjects.focus(snippet, span, focus, block.place)
    html = fragments.source(snippet, span, prefix, fold or (False if asked else None), near)
    name = tag("code", parts.breakable(f"snippets/{snippet.name}.py"))
    copy = tag("button", esc("copy"), class_="tclab-copy", type="button")
    links = tag("span", copy, SPACE, _downloads(block, snippet), class_="tclab-downloads")
    bar = tag("p", name, links, class_="tclab-bar", data_search_exclude="")
    # Material's copy button would copy a part; the page's script serves the one in the bar.
    return tag("div", bar, html, class_="tclab-listing no-copy")


def _downloads(block: Block, snippet: Snippet) -> Html:
    """Links to the files a reader can take away: script, notebook, local files they import."""
    paths = {".py": downloads.script_path(snippet), ".ipynb": downloads.notebook_path(snippet)}
    paths |= {path.rsplit("/", 1)[1]: path for path, _ in downloads.includes(snippet)}
    links = (
        tag("a", esc(name), href=block.on.link(path), download=True, title=f"Download {name}")
        for name, path in paths.items()
    )
    return join(links, SPACE)


def _range(block: Block, snippet: Snippet, lines: tuple[int, int] | None) -> tuple[int, int]:
    length = len(source_lines(snippet.source))
    if lines is None:
        return fragments.code_start(snippet), length
    first, last = lines
    if not 1 <= first <= last <= length:
        cause = f"lines {first} to {last} are not in {snippet.name}, which has {length}"
        raise PageError(block.place, cause, f"choose lines=(first, last) within 1 to {length}")
    return first, last


def artifacts(
    block: Block,
    snippet: Snippet,
    runs: Sequence[Run],
    names: Sequence[str] | None,
    fold: bool | None,
    view: str | None,
) -> Html:
    """The artifacts called `names` (None: all) of each run; runs that have none are left out."""
    if not any(run.artifacts for run in runs):
        cause = f"{snippet.name} shows no artifact"
        raise PageError(block.place, cause, "add tclab.show(...) to it, or use stdout(...)")
    _check_names(block, snippet, runs, names or ())

    def of(run: Run) -> list[Artifact]:
        return [a for a in run.artifacts if names is None or a.name in names]

    return _each(block, snippet, runs, of, fold, view, above=block.heading)


def printed(block: Block, snippet: Snippet, runs: Sequence[Run], fold: bool | None) -> Html:
    """What the runs wrote to standard output."""
    if not any(run.stdout.strip() for run in runs):
        cause = f"{snippet.name} prints nothing"
        raise PageError(block.place, cause, "show an artifact, or only its code(...)")
    return _each(block, snippet, runs, stdout_of, fold)


def everything(run: Run) -> list[Artifact]:
    """What a run shows: what it printed, its artifacts, and the declared error."""
    return [*stdout_of(run), *run.artifacts, *_raised_in(run)]


def stdout_of(run: Run) -> list[Artifact]:
    return [Text("Printed", "stdout", run.stdout)] if run.stdout.strip() else []


def _raised_in(run: Run) -> list[Artifact]:
    return [Text("Ends with", "raised", run.raised)] if run.raised else []


def _check_names(block: Block, snippet: Snippet, runs: Sequence[Run], names: Sequence[str]) -> None:
    there = list(dict.fromkeys(a.name for run in runs for a in run.artifacts))
    for name in names:
        if name not in there:
            cause = f"{snippet.name} shows no {name!r}"
            raise PageError(block.place, cause, f"it shows: {', '.join(there)}")


# --------------------------------------------------------------------------- runs


def _each(
    block: Block,
    snippet: Snippet,
    runs: Sequence[Run],
    of: Callable[[Run], list[Artifact]],
    fold: bool | None = None,
    view: str | None = None,
    *,
    folds: Folds = MappingProxyType({}),
    above: str = "",
) -> Html:
    """The artifacts `of` the runs, and stamps: once what they show alike, in tabs what differs.

    A title that repeats the one `above` it is left out.
    """

    def panel(shown: Shown, searched: bool) -> Html:
        titles = [above, *(a.title for a in shown.artifacts)]
        figures = [
            _figure(block, shown.runs[0], a, folds.get(a.name, fold), view, title, searched)
            for a, title in zip(shown.artifacts, titles)
        ]
        html = join([*figures, render.stamp(*shown.runs)], NEWLINE)
        return html if searched else tag("div", html, data_search_exclude="")

    pieces = []
    for together in alike.stretches(runs, of):
        chosen = next((n for n, each in enumerate(together) if runs[0] in each.runs), 0)
        panels = [panel(each, number == chosen) for number, each in enumerate(together)]
        pieces.append(_tabs(block, snippet, together, panels, chosen))
        above = together[chosen].artifacts[-1].title
    return join(pieces, NEWLINE)


def _tabs(
    block: Block, snippet: Snippet, together: Sequence[Shown], panels: Sequence[Html], chosen: int
) -> Html:
    """A tab for each that differs; the only one without."""
    if len(panels) == 1:
        return panels[0]
    where = Options(prefix=block.on.unique(f"{snippet.name}-runs"))
    names = [label(each.runs) for each in together]
    return parts.tabs("Which machine", _distinct([*zip(names, panels)]), where, chosen=chosen)


def _figure(
    block: Block,
    run: Run,
    artifact: Artifact,
    fold: bool | None,
    view: str | None,
    above: str,
    searched: bool,
) -> Html:
    """One artifact with its title; the page notes where the code of its first chain begins."""
    page = block.on
    prefix = page.unique(f"{run.snippet}-{run.environment}-{artifact.name}")
    titled = not _same(artifact.title, above)
    if isinstance(artifact, Report):
        return reports.figure(page, artifact, prefix)
    try:
        html = fragments.figure(page, run, artifact, prefix, fold, view, titled, searched)
    except TclabError as error:  # such as a view that a graph has not
        raise PageError(block.place, error.cause, error.next_step) from None
    if isinstance(artifact, Chain) and artifact.panes and not page.code:
        page.code = Panes(artifact, Options(prefix)).id(0)
    return html


def label(runs: Iterable[Run]) -> str:
    """The tab of what these runs show: each device with its PyTorches, ``CPU · torch 2.13.0``."""
    versions: dict[str, set[Version]] = {}
    for first in (run.measured[0] for run in runs):
        versions.setdefault(_short_gpu(first.gpu) or "CPU", set()).add(first.version)
    names = {device: ", ".join(v.public for v in sorted(of)) for device, of in versions.items()}
    return "; ".join(f"{device} · torch {of}" for device, of in names.items())


def _short_gpu(name: str) -> str:
    """``NVIDIA H200`` is ``H200``."""
    return name.removeprefix("NVIDIA ").split(",")[0].strip()


def _distinct(panels: list[tuple[str, Html]]) -> list[tuple[str, Html]]:
    """Tabs whose names coincide are numbered."""
    seen: dict[str, int] = {}
    out = []
    for name, html in panels:
        seen[name] = seen.get(name, 0) + 1
        out.append((name if seen[name] == 1 else f"{name} ({seen[name]})", html))
    return out
