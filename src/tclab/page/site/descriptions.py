"""What a page is about, in a sentence, for whoever lists it: its first paragraph."""

from __future__ import annotations

import re

#: Longer ones are cut by those who list pages.
LONGEST = 200

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_PARAGRAPH = re.compile(r"\n\n([A-Z*`\[][^\n]*)\n")


def first(markdown: str) -> str:
    """The first paragraph of a page as plain text, in whole sentences; '' where there is none."""
    found = _PARAGRAPH.search(f"\n\n{markdown}\n")
    plain = re.sub(r"[`*]", "", _LINK.sub(r"\1", found[1])) if found else ""
    while len(plain) > LONGEST and ". " in plain:
        plain = f"{plain.rpartition('. ')[0]}."
    return plain
