"""The names of the reference as a file of their own, which a search asks for.

Thousands of names would fill the index that is loaded with the first search of any page. They are
found by themselves, not by words in prose: a list and a few comparisons do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tclab.page.blocks import Page
from tclab.render import identifier


def write(folder: Path, pages: Iterable[Page]) -> None:
    """Write `names.js` into the folder of the search index: a script, so that it loads over file://."""
    groups = [group for page in pages for group in _groups(page)]
    text = json.dumps(groups, separators=(",", ":"), ensure_ascii=False)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.js").write_text(f"window.tclabNames={text};\n", encoding="utf-8")


def _groups(page: Page) -> Iterable[dict[str, object]]:
    for group in page.groups:
        entries = [(entry.name, entry.text) for entry in group.entries]
        prefix = f"{identifier(group.table)}-"
        yield {"url": page.url, "title": group.title, "prefix": prefix, "entries": entries}
