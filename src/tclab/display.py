"""Implement `tclab.show`: print in a terminal, display in a notebook, or store in a run's
results.
"""

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

    `title` is its heading. Pages refer to it by `name`, which is made from the title by default. If
    a run shows the same name twice, the second becomes ``name-2``.
    """
    sink = _sink or (_display if in_notebook() else _print)
    for artifact in make_artifacts(x, title, name):
        sink(artifact)


def set_sink(sink: Sink | None) -> None:
    """Send everything shown from now on to `sink`; None restores the default."""
    global _sink
    _sink = sink


def get_sink() -> Sink | None:
    """Return the sink that receives everything shown; None if it is the terminal or notebook."""
    return _sink


# --------------------------------------------------------------------------- conversion


def make_artifacts(
    x: object, title: str | None = None, name: str | None = None
) -> Iterable[Artifact]:
    """Convert `x` to artifacts with their final titles and names."""
    if isinstance(x, (list, tuple)) and x and all(isinstance(i, Artifact) for i in x):
        return [_set_title_and_name(item, title, name) for item in x]
    if isinstance(x, (list, tuple)) and not x:
        return [_set_title_and_name(Text(text="(none)"), title, name)]
    return [_set_title_and_name(make_artifact(x), title, name)]


def _set_title_and_name(artifact: Artifact, title: str | None, name: str | None) -> Artifact:
    title = artifact.title if title is None else title
    name = slug(name or artifact.name or title or artifact.kind)
    return replace(artifact, title=title, name=name)


def make_artifact(x: Any) -> Artifact:
    """Convert one object to an artifact."""
    if isinstance(x, Artifact):
        return x
    if isinstance(x, str):
        return Text(text=x)
    if hasattr(type(x), "overview"):  # a Capture
        return cast(Artifact, x.overview)
    if any(cls.__name__ == "GraphModule" for cls in type(x).__mro__):
        return _list_graph_module(x)
    return _tabulate(x) or Text(text=str(x))


def _list_graph_module(module: Any) -> Artifact:
    code = module.print_readable(print_output=False)
    return Listing(title=type(module).__name__, code=code, language="python")


def _tabulate(x: Any) -> Table | None:
    """Convert a mapping, a list of mappings or a data frame to a table; None for others."""
    if isinstance(x, Mapping):
        return Table(
            columns=("key", "value"), rows=tuple((str(k), _format_cell(v)) for k, v in x.items())
        )
    if isinstance(x, list) and all(isinstance(row, Mapping) for row in x):
        columns = tuple(dict.fromkeys(str(key) for row in x for key in row))
        rows = tuple(tuple(_format_cell(row.get(column)) for column in columns) for row in x)
        return Table(columns=columns, rows=rows)
    if hasattr(x, "itertuples") and hasattr(x, "columns"):
        rows = tuple(tuple(map(_format_cell, row)) for row in x.itertuples(index=False))
        return Table(columns=tuple(map(str, x.columns)), rows=rows)
    return None


def _format_cell(value: object) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


# --------------------------------------------------------------------------- output


def in_notebook() -> bool:
    """Return whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def _display(artifact: Artifact) -> None:
    from IPython.display import HTML, display

    from tclab import render

    styles, options = _styles(), render.Options(_unique_prefix(artifact))
    display(HTML(styles + render.figure(artifact, options=options) + _scripts(artifact)))


_outputs_displayed = 0  # the number of outputs in this notebook


def _unique_prefix(artifact: Artifact) -> str:
    """Return an id prefix that no other output of the notebook has."""
    global _outputs_displayed
    _outputs_displayed += 1
    return f"{artifact.name}-{_outputs_displayed}"


def _styles() -> str:
    """Return the style sheets for the first output; '' for later outputs.

    A front end that isolates outputs shows the later outputs without styles.
    """
    from tclab import render

    if _outputs_displayed:
        return ""
    # JupyterLab marks a dark theme with this attribute
    dark = render.dark_css('[data-jp-theme-light="false"]')
    return f"<style>{render.css()}</style><style>{dark}\n{_NOTEBOOK_CSS}</style>"


def _scripts(artifact: Artifact) -> str:
    """Return the viewer's script, for each output that needs it, because a cell can be run
    again.
    """
    from tclab import render

    return f"<script>{render.js()}</script>" if artifact.kind in ("chain", "diff") else ""


#: Overrides JupyterLab's own styles of tables, code and definition lists.
_NOTEBOOK_CSS = """
.jp-RenderedHTMLCommon .tclab :is(pre, table) { font-size: 12px }
.jp-RenderedHTMLCommon .tclab :is(dt, dd) {
  float: none; width: auto; clear: none; font-weight: 400 }
"""


def _print(artifact: Artifact) -> None:
    from tclab import render

    print(render.text(artifact))
