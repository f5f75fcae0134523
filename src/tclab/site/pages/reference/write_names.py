"""Write the names of the installed PyTorch into `docs/reference/names/`, from the local runs.

python -m tclab run reference backends/which_backends
python -m tclab.site.pages.reference.write_names
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tclab.errors import TclabError
from tclab.model import Run, Table
from tclab.site import snippets
from tclab.site.engine.plan import Plan
from tclab.site.pages.prose import text
from tclab.site.versions import name_lists
from tclab.system.project import project_root

_SETTINGS = "reference/every_setting"
#: The tables of the settings that no page shows whole.
_HIDDEN = (name_lists.DEFAULTS, name_lists.COMMENTS)
_STEP = "name a table that it shows in entries(…) on the page"


def main() -> int:
    """Write the lists; the exit status is 0, or 1 if a run is missing."""
    root = project_root(None)
    try:
        names, version = collect_names(root)
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1
    folder = root / "docs" / name_lists.FOLDER
    known = name_lists.read_lists(folder) | {version: names}
    name_lists.write_lists(folder, known)
    print(f"{version}: {sum(map(len, names.values())):,} names of {len(names)} tables")
    return 0


def collect_names(root: Path) -> tuple[dict[str, frozenset[str]], str]:
    """Return the names by table, and the version. Raises TclabError if a table has no fresh run."""
    plan = Plan(root)
    by_name = {snippet.name: snippet for snippet in snippets.find(root)}
    names: dict[str, frozenset[str]] = {}
    for snippet, table in compared_tables(root):
        run = plan.fresh_run(by_name[snippet])
        if run is None:
            raise TclabError(snippet, "no fresh run", f"tclab run {snippet}")
        names[table] = _names_in_table(run, table)
    return names, plan.here.version.short


def compared_tables(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (snippet, table) of each ``entries("…", "…")`` on the pages that compares versions,
    and the tables of the settings' defaults and comments where a page shows settings.
    """
    yielded = set()
    for page in text.read_pages(root / "docs", root):
        for call in page.uses:
            if call.function == "entries" and call.options.get("versions", True):
                yielded.add(call.snippet)
                yield call.snippet, str(call.options["table"])
    if _SETTINGS in yielded:
        yield from ((_SETTINGS, table) for table in _HIDDEN)


def _names_in_table(run: Run, table: str) -> frozenset[str]:
    try:
        artifact = run.artifact(table)
    except KeyError as error:
        raise TclabError(run.snippet, error.args[0], _STEP) from None
    if not isinstance(artifact, Table):
        raise TclabError(run.snippet, f"{table!r} is no table of names", _STEP)
    return frozenset(str(row[0]) for row in artifact.rows)


if __name__ == "__main__":
    sys.exit(main())
