"""Protect the text of bindings from Markdown, and find bindings that were not converted.

Text from runs goes through Markdown as character references, so Markdown cannot change it. A
binding that is left in the HTML would be published as a broken link.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote

from tclab.errors import PageError
from tclab.render.escape import Html, esc
from tclab.site.pages.prose.text import PageText

# --------------------------------------------------------------------------- through Markdown

#: The texts and titles in an element that tclab wrote. They have no `<` and `>`, because both are
#: escaped.
_TEXT = re.compile(r'(?<=>)[^<>]+(?=<)|(?<= title=")[^"]*(?=")')
_ELEMENT = re.compile(r'<(?:span class="tclab-number"|a class="tclab-proof")[^<>]*>[^<>]*')
_NUMBERED = re.compile(r"(?:&#\d+;)+")


def protect_from_markdown(element: Html) -> str:
    """Write each character of the element's texts and titles as a character reference.

    Markdown then finds no link, emphasis, line end or table cell in them.
    """
    return _TEXT.sub(lambda m: "".join(f"&#{ord(c)};" for c in html.unescape(m[0])), element)


def restore_text(page: str) -> str:
    """Turn the character references that `protect_from_markdown` wrote back into text."""
    return _ELEMENT.sub(
        lambda found: _NUMBERED.sub(lambda run: esc(html.unescape(run[0])), found[0]), page
    )


# --------------------------------------------------------------------------- after Markdown

_ADDRESS_ATTRIBUTES = frozenset(
    {"href", "src", "srcset", "action", "formaction", "cite", "data", "poster", "ping"}
    | {"xlink:href", "background", "longdesc", "content"}
)
#: Characters that a browser removes from an address before it reads it, and the backslash of an
#: escape, which Markdown leaves before a letter: cl\aim:topic/snippet#name
_IGNORED = re.compile(r"[\x00-\x20\\]")
_BINDING = re.compile(r"(?:claim|value):", re.IGNORECASE)
#: A colon, ASCII or full-width, and what a binding refers to. The word before the colon does not
#: matter, so a misspelt binding such as claims:topic/snippet#name is found, too.
_REFERENCE = re.compile(r"[:：][a-z0-9_]+/[a-z0-9_]+(?:@[\w.-]+)?#")
_BINDING_IN_TEXT = re.compile(
    r"\b(?:claim|value)\s*:\s*[a-z]\w*/[a-z]\w*(?:@[\w.-]+)?#", re.IGNORECASE
)
_STEP = (
    "write [The sentence.](claim:topic/snippet#name), or [](value:topic/snippet#table/row/column)"
)
_CODE_ELEMENTS = frozenset({"pre", "code", "script", "style", "textarea"})


def find_leftover_bindings(page: str, file: str, text: PageText | None) -> Iterator[PageError]:
    """Yield an error for each binding left in the HTML of a page.

    A binding may be left in a link, in another element, or in text outside code; `file` is the
    source.
    """
    address = _browser_address(page)
    if not _BINDING.search(address) and not _REFERENCE.search(address):
        return
    for binding in dict.fromkeys(_BindingFinder.find_bindings(page)):
        cause = f"the binding {binding!r} is not written as one, and would be published as it is"
        yield PageError(_binding_line(binding, file, text), cause, _STEP)


def _browser_address(text: str) -> str:
    return _IGNORED.sub("", unquote(html.unescape(text)))


def _binding_line(binding: str, file: str, text: PageText | None) -> str:
    """Return ``file:line`` of the binding, or only the file if not exactly one line of the text has
    the binding.
    """
    wanted = _browser_address(binding).lower()
    lines = ((n, _browser_address(line).lower()) for n, line in (text.lines if text else ()))
    return next((f"{file}:{n}" for n, line in lines if wanted in line), file)


class _BindingFinder(HTMLParser):
    """Collects the bindings that are left in a page's HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.code = 0

    @classmethod
    def find_bindings(cls, page: str) -> list[str]:
        parser = cls()
        parser.feed(page)
        parser.close()
        return parser.found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.code += tag in _CODE_ELEMENTS
        self._collect_binding(tag)
        for name, value in attrs:
            if name in _ADDRESS_ATTRIBUTES:
                self._collect_binding(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.code -= tag in _CODE_ELEMENTS

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in _CODE_ELEMENTS and self.code > 0

    def handle_data(self, data: str) -> None:
        if not self.code:
            self.found += _BINDING_IN_TEXT.findall(data)

    def _collect_binding(self, address: str) -> None:
        read = _browser_address(address)
        reference = _REFERENCE.search(read)
        scheme = read[: reference.start()] if reference else ":"
        if _BINDING.match(read) or ":" not in scheme:
            self.found.append(address)
