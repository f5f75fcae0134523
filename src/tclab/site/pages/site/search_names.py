"""Write the names that the search finds (reference names, code words, messages) to their own file.

Thousands of names would enlarge the search index, which is loaded at the first search. Names need
no full-text index, only a list and a few comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tclab.render import Keyword, identifier
from tclab.render.delivery.compressed import pack
from tclab.site.pages.reference.concordance import Concordance
from tclab.site.pages.rendering import Page

#: The most characters of a message to keep.
_LONGEST = 200

#: The most pages to which a code word leads; more pages would add little.
MOST_PAGES = 2


def write_names(folder: Path, pages: Iterable[Page], concordance: Concordance) -> None:
    """Write the compressed names to `names.js` in the folder of the search index.

    The file is a script, so that it also loads over file://.
    """
    listed = list(pages)
    groups = [group for page in listed for group in _reference_groups(page)]
    groups += [_prose_group(concordance), _message_group(concordance), *code_groups(listed)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.js").write_text(
        f'window.tclabPackedNames="{pack(groups)}";\n', encoding="utf-8"
    )


def _reference_groups(page: Page) -> Iterable[dict[str, object]]:
    for group in page.groups:
        entries = [(entry.name, entry.text) for entry in group.entries]
        prefix = f"{identifier(group.table)}-"
        yield {"url": page.url, "title": group.title, "prefix": prefix, "entries": entries}


def _prose_group(concordance: Concordance) -> dict[str, object]:
    """Return the names in the chapters' prose with their headings; the search finds them by exact
    name.
    """
    known = (
        (name, concordance.best_places(name)[0])
        for name in sorted(concordance.prose_names)
        if len(name) > 3
    )
    entries = [(name, heading, url) for name, (url, heading) in known]
    return {"url": "", "title": "In the book", "prefix": "", "exact": True, "entries": entries}


def _message_group(concordance: Concordance) -> dict[str, object]:
    """Return the messages in the runs' outputs. The search finds a message if most of its words are
    given.
    """
    entries = [
        (heading, message[:_LONGEST], url)
        for message, (url, heading) in sorted(concordance.messages.items())
    ]
    return {"url": "", "title": "Shown in the book", "prefix": "", "entries": entries}


def code_groups(pages: Iterable[Page]) -> list[dict[str, object]]:
    """Return the opcodes and kernel names in the pages' code, one group for each stage.

    A word leads to its first line on each of the first MOST_PAGES pages that have it.
    """
    seen: Counter[tuple[str, str]] = Counter()
    stages: dict[str, list[tuple[str, str, str]]] = {}
    for page in pages:
        for keyword in _first_of_each_word(page.keywords):
            key = (keyword.stage, keyword.word)
            seen[key] += 1
            if seen[key] <= MOST_PAGES:
                entry = (keyword.word, keyword.line, f"{page.url}#{keyword.anchor}")
                stages.setdefault(keyword.stage, []).append(entry)
    shared = {"url": "", "prefix": "", "code": True}
    return [{"title": stage, "entries": entries, **shared} for stage, entries in stages.items()]


def _first_of_each_word(keywords: Iterable[Keyword]) -> Iterable[Keyword]:
    first: dict[str, Keyword] = {}
    for keyword in keywords:
        first.setdefault(keyword.word, keyword)
    return first.values()
