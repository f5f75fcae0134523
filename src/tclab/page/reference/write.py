"""Write the names of the installed PyTorch into `docs/reference/names/`, from the runs kept here.

python -m tclab run reference backends/which_backends
python -m tclab.page.reference.write
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tclab import snippets
from tclab.engine.plan import Plan
from tclab.errors import TclabError
from tclab.model import Run, Table
from tclab.page.prose import text, uses
from tclab.page.reference import versions
from tclab.project import project_root

_STEP = "name a table that it shows in entries(…) on the page"


def main() -> int:
    """The status: 0, or 1 where a run is missing."""
    root = project_root(None)
    try:
        names, version = collect(root)
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1
    folder = root / "docs" / versions.FOLDER
    known = versions.read(folder) | {version: names}
    versions.write(folder, known)
    print(f"{version}: {sum(map(len, names.values())):,} names of {len(names)} tables")
    return 0


def collect(root: Path) -> tuple[dict[str, frozenset[str]], str]:
    """Table → names of all reference tables, and the version. TclabError for one without a run."""
    plan = Plan(root)
    by_name = {snippet.name: snippet for snippet in snippets.find(root)}
    names: dict[str, frozenset[str]] = {}
    for snippet, table in tables(root):
        run = plan.fresh_run(by_name[snippet])
        if run is None:
            raise TclabError(snippet, "no fresh run", f"tclab run {snippet}")
        names[table] = _names(run, table)
    return names, plan.here.version.short


def tables(root: Path) -> Iterator[tuple[str, str]]:
    """(snippet, table) of each ``entries("…", "…")`` on the pages, where versions are compared."""
    for page in text.in_folder(root / "docs", root):
        for call in (call for fence in page.fences if fence.executed for call in fence.calls):
            options = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
            if uses.called(call) == "entries" and options.get("versions", True):
                snippet, table = map(ast.literal_eval, call.args)
                yield snippet, table


def _names(run: Run, table: str) -> frozenset[str]:
    try:
        found = run.artifact(table)
    except KeyError as error:
        raise TclabError(run.snippet, error.args[0], _STEP) from None
    if not isinstance(found, Table):
        raise TclabError(run.snippet, f"{table!r} is no table of names", _STEP)
    return frozenset(str(row[0]) for row in found.rows)


if __name__ == "__main__":
    sys.exit(main())
