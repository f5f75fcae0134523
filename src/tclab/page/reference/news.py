"""What another PyTorch changes, as the text of an issue: sentences that became false, names added
and dropped, private names that moved.

    python -m tclab.page.reference.news [--against 2.13] [--moved FILE]

It runs what is stale, as a build does. FILE has what `python -m tclab.capturing.torch_private`
printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tclab.engine.plan import Plan
from tclab.errors import TclabError
from tclab.model import Version
from tclab.page import book, proofs
from tclab.page.reference import versions, write
from tclab.project import project_root

#: So many names of a table are written out; the others are counted.
MOST = 40


def text(title: str, false: Iterable[TclabError], names: Iterable[str], moved: str) -> str:
    """The issue in Markdown; a part without anything says so."""
    parts = (
        ("Sentences and snippets that no longer hold", [_item(error) for error in false]),
        ("Names added and dropped", list(names)),
        ("Private names that moved", [f"- {line}" for line in moved.splitlines() if line]),
    )
    sections = (
        f"## {head}: {len(items) or 'none'}\n\n" + "".join(f"{item}\n" for item in items)
        for head, items in parts
    )
    return f"# {title}\n\n" + "\n".join(sections)


def _item(error: TclabError) -> str:
    first, *rest = str(error).splitlines()
    return "\n".join((f"- {first}", *(f"  {line.strip()}" for line in rest)))


def false(root: Path) -> list[TclabError]:
    """Everything that a build would refuse, in the build's words."""
    try:
        return [*proofs.problems(book.open_book(root, root / "docs"))]
    except book.Problems as problems:
        opened = book.stored(root, root / "docs")
        return [*problems.problems, *proofs.problems(opened)]


def names(root: Path, against: str) -> Iterator[str]:
    """A line for each table of the reference whose names differ from those of `against`, or where
    that is '' of the newest version before this one.
    """
    known = versions.read(root / "docs" / versions.FOLDER)
    try:
        here, version = write.collect(root)
    except TclabError as error:
        yield f"- not compared: {str(error).splitlines()[0]}"
        return
    older = [one for one in known if Version.of(one) < Version.of(version)]
    before = against or max(older, key=Version.of, default="")
    for change in versions.changes(known.get(before, {}), here):
        for what, found in (("new in", change.added), ("gone in", change.dropped)):
            if found:
                shown = ", ".join(f"`{name}`" for name in found[:MOST])
                more = f" and {len(found) - MOST:,} more" if len(found) > MOST else ""
                count = f"{len(found):,} {what} {version}, against {before}"
                yield f"- {change.table}: {count}: {shown}{more}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the text; the status, 0 whatever it says."""
    parser = argparse.ArgumentParser(prog="python -m tclab.page.reference.news")
    parser.add_argument("--against", default="", metavar="VERSION")
    parser.add_argument("--moved", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    root = project_root()
    wrong = false(root)
    title = f"PyTorch {Plan(root).here.torch}"
    moved = options.moved.read_text(encoding="utf-8") if options.moved else ""
    print(text(title, wrong, names(root, options.against), moved), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
