"""`tclab.show`: the same call prints in a terminal, displays in a notebook, is kept by a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from tclab.model import Artifact, Listing, Table, Text, slug

Sink = Callable[[Artifact], None]
_sink: Sink | None = None


def show(x: object, title: str | None = None, name: str | None = None) -> None:
    """Show an artifact, a capture, a table, a text or nearly anything else.

    `title` is its heading. `name` is the key pages use; by default it is made from the
    title. Where a run shows the same name twice the second becomes ``name-2``.
    """
    sink = _sink or (_display if in_notebook() else _print)
    for artifact in artifacts(x, title, name):
        sink(artifact)


def collect(sink: Sink | None) -> None:
    """Send everything shown from now on to `sink`; None restores the default."""
    global _sink
    _sink = sink


def collecting() -> Sink | None:
    """Where everything shown goes now; None: to the terminal or the notebook."""
    return _sink


# --------------------------------------------------------------------------- what it becomes


def artifacts(x: object, title: str | None = None, name: str | None = None) -> Iterable[Artifact]:
    """`x` as artifacts with their final titles and names."""
    if isinstance(x, (list, tuple)) and x and all(isinstance(i, Artifact) for i in x):
        return [_named(item, title, name) for item in x]
    if isinstance(x, (list, tuple)) and not x:
        return [_named(Text(text="(none)"), title, name)]
    return [_named(artifact_of(x), title, name)]


def _named(artifact: Artifact, title: str | None, name: str | None) -> Artifact:
    title = artifact.title if title is None else title
    name = slug(name or artifact.name or title or artifact.kind)
    return replace(artifact, title=title, name=name)


def artifact_of(x: Any) -> Artifact:
    """One object as an artifact."""
    if isinstance(x, Artifact):
        return x
    if isinstance(x, str):
        return Text(text=x)
    if hasattr(type(x), "overview"):  # a Capture
        return cast(Artifact, x.overview)
    if any(cls.__name__ == "GraphModule" for cls in type(x).__mro__):
        return _graph_module(x)
    return _table(x) or Text(text=str(x))


def _graph_module(module: Any) -> Artifact:
    code = module.print_readable(print_output=False)
    return Listing(title=type(module).__name__, code=code, language="python")


def _table(x: Any) -> Table | None:
    """A mapping, a list of mappings or a data frame as a table."""
    if isinstance(x, Mapping):
        return Table(columns=("key", "value"), rows=tuple((str(k), _cell(v)) for k, v in x.items()))
    if isinstance(x, list) and all(isinstance(row, Mapping) for row in x):
        columns = tuple(dict.fromkeys(str(key) for row in x for key in row))
        rows = tuple(tuple(_cell(row.get(column)) for column in columns) for row in x)
        return Table(columns=columns, rows=rows)
    if hasattr(x, "itertuples") and hasattr(x, "columns"):
        rows = tuple(tuple(map(_cell, row)) for row in x.itertuples(index=False))
        return Table(columns=tuple(map(str, x.columns)), rows=rows)
    return None


def _cell(value: object) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


# --------------------------------------------------------------------------- where it goes


def in_notebook() -> bool:
    """This process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def _display(artifact: Artifact) -> None:
    from IPython.display import HTML, display

    from tclab import render

    styles, options = _styles(), render.Options(_prefix(artifact))
    display(HTML(styles + render.figure(artifact, options=options) + _scripts(artifact)))


_displayed = 0  # how many things this notebook has shown


def _prefix(artifact: Artifact) -> str:
    """An id that no other output of the notebook has."""
    global _displayed
    _displayed += 1
    return f"{artifact.name}-{_displayed}"


def _styles() -> str:
    """The style sheets, with the first output; an output that a front end isolates is plain."""
    from tclab import render

    if _displayed:
        return ""
    dark = render.dark('[data-jp-theme-light="false"]')  # as JupyterLab marks its page
    return f"<style>{render.css()}</style><style>{dark}\n{_NOTEBOOK}</style>"


def _scripts(artifact: Artifact) -> str:
    """The viewer's script, with each output that needs it: a cell may be run again."""
    from tclab import render

    return f"<script>{render.js()}</script>" if artifact.kind in ("chain", "diff") else ""


#: JupyterLab sets tables, code and lists of facts in a way of its own.
_NOTEBOOK = """
.jp-RenderedHTMLCommon .tclab :is(pre, table) { font-size: 12px }
.jp-RenderedHTMLCommon .tclab :is(dt, dd) {
  float: none; width: auto; clear: none; font-weight: 400 }
"""


def _print(artifact: Artifact) -> None:
    from tclab import render

    print(render.text(artifact))
