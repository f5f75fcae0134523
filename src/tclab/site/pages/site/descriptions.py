"""Take a page's description from its first paragraph."""

from __future__ import annotations

import re

#: The most characters of a description: search engines cut longer ones.
LONGEST = 200

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_PARAGRAPH = re.compile(r"\n\n([A-Z*`\[][^\n]*)\n")


def first_paragraph(markdown: str) -> str:
    """Return the first paragraph of a page as plain text, in whole sentences; '' if it has none."""
    match = _PARAGRAPH.search(f"\n\n{markdown}\n")
    plain = re.sub(r"[`*]", "", _LINK.sub(r"\1", match[1])) if match else ""
    while len(plain) > LONGEST and ". " in plain:
        plain = f"{plain.rpartition('. ')[0]}."
    return plain
