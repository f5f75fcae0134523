"""Write an issue on the effects of another PyTorch: sentences that became false, names added or
dropped, private names that moved.

    python -m tclab.site.pages.reference.news [--against 2.13] [--moved FILE] [--flips FILE]

It runs stale snippets, as a build does. The first FILE has the output of
`python -m tclab.capturing.torch_private`, the second that of
`python -m tclab.workshop.versions.shadow`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tclab.errors import TclabError
from tclab.model import Version
from tclab.site.engine.plan import Plan
from tclab.site.pages import book, proofs
from tclab.site.pages.reference import write_names
from tclab.site.versions import name_lists
from tclab.system.project import project_root

#: The most names of a table that the issue lists; the others are counted.
MOST_NAMES = 40


def issue_text(
    title: str, problems: Iterable[TclabError], names: Iterable[str], moved_names: str, flips: str
) -> str:
    """Return the issue in Markdown, with a note in each empty section. `moved_names` and `flips`
    have one item in each line.
    """
    parts = (
        ("Sentences and snippets that no longer hold", [_list_item(error) for error in problems]),
        ("Claims that come out otherwise with Inductor, or over full caches", _list_lines(flips)),
        ("Names added and dropped", list(names)),
        ("Private names that moved", _list_lines(moved_names)),
    )
    sections = (
        f"## {head}: {len(items) or 'none'}\n\n" + "".join(f"{item}\n" for item in items)
        for head, items in parts
    )
    return f"# {title}\n\n" + "\n".join(sections)


def _list_lines(text: str) -> list[str]:
    return [f"- {line}" for line in text.splitlines() if line]


def _list_item(error: TclabError) -> str:
    first, *rest = str(error).splitlines()
    return "\n".join((f"- {first}", *(f"  {line.strip()}" for line in rest)))


def build_problems(root: Path) -> list[TclabError]:
    """Return all problems that would fail a build."""
    try:
        return [*proofs.problems(book.open_book(root, root / "docs"))]
    except book.Problems as problems:
        opened = book.open_stored_book(root, root / "docs")
        return [*problems.problems, *proofs.problems(opened)]


def name_changes(root: Path, against: str) -> Iterator[str]:
    """Yield a line for each reference table whose names differ from the version `against`.

    If `against` is '', the newest version before the installed one is used.
    """
    known = name_lists.read_lists(root / "docs" / name_lists.FOLDER)
    try:
        installed, version = write_names.collect_names(root)
    except TclabError as error:
        yield f"- not compared: {str(error).splitlines()[0]}"
        return
    older = [
        known_version
        for known_version in known
        if Version.parse(known_version) < Version.parse(version)
    ]
    before = against or max(older, key=Version.parse, default="")
    for change in name_lists.compare_names(known.get(before, {}), installed):
        for what, changed_names in (("new in", change.added), ("gone in", change.dropped)):
            if changed_names:
                shown = ", ".join(f"`{name}`" for name in changed_names[:MOST_NAMES])
                more = (
                    f" and {len(changed_names) - MOST_NAMES:,} more"
                    if len(changed_names) > MOST_NAMES
                    else ""
                )
                count = f"{len(changed_names):,} {what} {version}, against {before}"
                yield f"- {change.table}: {count}: {shown}{more}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the issue; the exit status is always 0."""
    parser = argparse.ArgumentParser(prog="python -m tclab.site.pages.reference.news")
    parser.add_argument("--against", default="", metavar="VERSION")
    parser.add_argument("--moved", type=Path, metavar="FILE")
    parser.add_argument("--flips", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    root = project_root()
    problems = build_problems(root)
    title = f"PyTorch {Plan(root).here.torch}"
    files = (options.moved, options.flips)
    moved, flips = (file.read_text(encoding="utf-8") if file else "" for file in files)
    print(issue_text(title, problems, name_changes(root, options.against), moved, flips), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
