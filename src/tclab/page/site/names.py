"""Names as a file of their own, which a search asks for: of the reference, and in the pages' code.

Thousands of names would fill the index that is loaded with the first search of any page. They are
found by themselves, not by words in prose: a list and a few comparisons do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tclab.page.blocks import Page
from tclab.page.reference.concordance import Concordance
from tclab.render import Keyword, identifier
from tclab.render.delivery.compressed import packed

#: Of a message so many characters are kept.
_LONGEST = 200

#: More pages with the same instruction say nothing new.
MOST_PAGES = 2


def write(folder: Path, pages: Iterable[Page], chapters: Concordance) -> None:
    """Write `names.js` into the folder of the search index: a script, so that it loads over file://,
    of compressed data.
    """
    read = list(pages)
    groups = [group for page in read for group in _groups(page)]
    groups += [_named(chapters), _messages(chapters), *words(read)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.js").write_text(
        f'window.tclabPackedNames="{packed(groups)}";\n', encoding="utf-8"
    )


def _groups(page: Page) -> Iterable[dict[str, object]]:
    for group in page.groups:
        entries = [(entry.name, entry.text) for entry in group.entries]
        prefix = f"{identifier(group.table)}-"
        yield {"url": page.url, "title": group.title, "prefix": prefix, "entries": entries}


def _named(chapters: Concordance) -> dict[str, object]:
    """What the prose of the chapters names, with the heading: found by the exact name."""
    known = ((name, chapters.best(name)[0]) for name in sorted(chapters.named) if len(name) > 3)
    entries = [(name, heading, url) for name, (url, heading) in known]
    return {"url": "", "title": "In the book", "prefix": "", "exact": True, "entries": entries}


def _messages(chapters: Concordance) -> dict[str, object]:
    """The messages that runs showed: found by most of their words."""
    entries = [
        (heading, message[:_LONGEST], url)
        for message, (url, heading) in sorted(chapters.messages.items())
    ]
    return {"url": "", "title": "Shown in the book", "prefix": "", "entries": entries}


def words(pages: Iterable[Page]) -> list[dict[str, object]]:
    """The opcodes and kernel names of the pages' code, a group a stage, each with its line.

    A word leads to at most MOST_PAGES pages, the first that have it, and there to where it stands
    first.
    """
    seen: Counter[tuple[str, str]] = Counter()
    stages: dict[str, list[tuple[str, str, str]]] = {}
    for page in pages:
        for keyword in _first(page.keywords):
            of_stage = (keyword.stage, keyword.word)
            seen[of_stage] += 1
            if seen[of_stage] <= MOST_PAGES:
                entry = (keyword.word, keyword.line, f"{page.url}#{keyword.anchor}")
                stages.setdefault(keyword.stage, []).append(entry)
    shared = {"url": "", "prefix": "", "code": True}
    return [{"title": stage, "entries": entries, **shared} for stage, entries in stages.items()]


def _first(keywords: Iterable[Keyword]) -> Iterable[Keyword]:
    first: dict[str, Keyword] = {}
    for keyword in keywords:
        first.setdefault(keyword.word, keyword)
    return first.values()
