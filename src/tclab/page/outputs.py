"""The HTML of a snippet on a page: its source, and the outputs of the chosen runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tclab.errors import PageError, TclabError
from tclab.model import Artifact, Run, Snippet, Text, slug
from tclab.page import downloads, fragments
from tclab.page.blocks import Block
from tclab.page.captions import caption_html
from tclab.render import parts
from tclab.render.escape import esc, tag
from tclab.render.options import Options


def whole(block: Block, snippet: Snippet, runs: Sequence[Run], fold: bool) -> str:
    """Title, caption, source and every output, as one section with an anchor."""
    ident = slug(snippet.name)
    anchor = tag("a", "¶", class_="headerlink", href=f"#{ident}", title="Permanent link")
    title = tag("p", esc(snippet.title) + anchor, class_="tclab-title")
    caption = caption_html(snippet)
    body = [title, caption, source(block, snippet, None, fold), *_outputs(block, snippet, runs)]
    return tag(
        "section", "\n".join(body), class_="tclab-snippet", id=ident, aria_label=snippet.title
    )


def _outputs(block: Block, snippet: Snippet, runs: Sequence[Run]) -> list[str]:
    """What it printed, its artifacts, and the declared error; one of them must be there."""

    def of(run: Run) -> list[Artifact]:
        return [*_stdout_of(run), *run.artifacts, *_raised_in(run)]

    if any(map(of, runs)):
        return [_each(block, snippet, runs, of)]
    cause = f"{snippet.name} shows nothing and prints nothing"
    raise PageError(block.place, cause, "add tclab.show(...) to it, or use only its code(...)")


def source(block: Block, snippet: Snippet, lines: tuple[int, int] | None, fold: bool) -> str:
    """The snippet's source with line anchors, a copy button and the downloads."""
    prefix = block.on.unique(f"src-{snippet.name}")
    html = fragments.source(snippet, _range(block, snippet, lines), prefix, fold)
    name = tag("code", f"snippets/{esc(snippet.name)}.py")
    links = tag("span", _downloads(block, snippet), class_="tclab-downloads")
    return tag("div", tag("p", name + links, class_="tclab-bar") + html, class_="tclab-listing")


def _downloads(block: Block, snippet: Snippet) -> str:
    """Links to the files a reader can take away: script, notebook, local files they import."""
    paths = {".py": downloads.script_path(snippet), ".ipynb": downloads.notebook_path(snippet)}
    paths |= {path.rsplit("/", 1)[1]: path for path, _ in downloads.includes(snippet)}
    return " ".join(
        tag("a", esc(name), href=block.on.link(path), download=True, title=f"Download {name}")
        for name, path in paths.items()
    )


def _range(block: Block, snippet: Snippet, lines: tuple[int, int] | None) -> tuple[int, int]:
    length = len(snippet.source.splitlines())
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
    fold: bool,
    view: str | None,
) -> str:
    """The artifacts called `names` (None: all) of each run; runs that have none are left out."""
    _check_names(block, snippet, runs, names)

    def of(run: Run) -> list[Artifact]:
        return [a for a in run.artifacts if names is None or a.name in names]

    return _each(block, snippet, runs, of, fold, view)


def printed(block: Block, snippet: Snippet, runs: Sequence[Run], fold: bool) -> str:
    """What the runs wrote to standard output."""
    if not any(run.stdout.strip() for run in runs):
        cause = f"{snippet.name} prints nothing"
        raise PageError(block.place, cause, "show an artifact, or only its code(...)")
    return _each(block, snippet, runs, _stdout_of, fold)


def _stdout_of(run: Run) -> list[Artifact]:
    return [Text("Printed", "stdout", run.stdout)] if run.stdout.strip() else []


def _raised_in(run: Run) -> list[Artifact]:
    return [Text("Ends with", "raised", run.raised)] if run.raised else []


def _check_names(
    block: Block, snippet: Snippet, runs: Sequence[Run], names: Sequence[str] | None
) -> None:
    there = list(dict.fromkeys(a.name for run in runs for a in run.artifacts))
    if not there:
        cause = f"{snippet.name} shows no artifact"
        raise PageError(block.place, cause, "add tclab.show(...) to it, or use stdout(...)")
    for name in names or ():
        if name not in there:
            cause = f"{snippet.name} shows no {name!r}"
            raise PageError(block.place, cause, f"it shows: {', '.join(there)}")


# --------------------------------------------------------------------------- runs


def _each(
    block: Block,
    snippet: Snippet,
    runs: Sequence[Run],
    of: Callable[[Run], list[Artifact]],
    fold: bool = False,
    view: str | None = None,
) -> str:
    """The artifacts `of` each run: one after the other, or in a tab for each run."""
    panels = []
    for run in runs:
        chosen = of(run)
        if chosen:
            figures = [_figure(block, snippet, run, a, fold, view) for a in chosen]
            panels.append((label(run), "\n".join(figures)))
    if len(panels) == 1:
        return panels[0][1]
    where = Options(prefix=block.on.unique(f"{snippet.name}-runs"))
    return parts.tabs("Which machine", _distinct(panels), where)


def _figure(
    block: Block, snippet: Snippet, run: Run, artifact: Artifact, fold: bool, view: str | None
) -> str:
    """One artifact with its title and its stamp."""
    prefix = block.on.unique(f"{snippet.name}-{run.environment}-{artifact.name}")
    try:
        return fragments.figure(run, artifact, prefix, block.on.anchors, fold, view)
    except TclabError as error:  # such as a view that a graph has not
        raise PageError(block.place, error.cause, error.next_step) from None


def label(run: Run) -> str:
    """A run's tab: its device and its PyTorch."""
    made = run.provenance
    device = _short_gpu(made.gpu) if made.gpu else "CPU"
    return f"{device} · torch {made.torch.split('+')[0]}"


def _short_gpu(name: str) -> str:
    """``NVIDIA H200`` is ``H200``."""
    return name.removeprefix("NVIDIA ").split(",")[0].strip()


def _distinct(panels: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Tabs whose names coincide are numbered."""
    seen: dict[str, int] = {}
    out = []
    for name, html in panels:
        seen[name] = seen.get(name, 0) + 1
        out.append((name if seen[name] == 1 else f"{name} ({seen[name]})", html))
    return out
