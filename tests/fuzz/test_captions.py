"""Any caption: no tag but Markdown's own, nothing that a browser obeys unless it is refused."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.site.pages import captions

TAGS = {
    "a", "blockquote", "br", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4",
    "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "span", "strong", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
PIECES = [
    "a", " ", "\n", "\n\n", "    ", "<", ">", "</", "/>", "<!--", "-->", "<script>", "</script>",
    "<b ",
    "onclick=x", "onclick='x'", '"', "'", "=", "[", "]", "](", ")", "![", "[a]: ", "[a]",
    "<a@b>", "&",
    "javascript:", "java\tscript:", "&#106;avascript:x", "data:text/html,x", "//x/y", "\\",
    "https://x",
    "<https://x/", "<javascript:x>", "{: ", "}", "{: onclick=x }", "style=x", "# ", "* ", "*",
    "_", "`",
    "```\n", "``` {.python onclick=x}\n", "| a | b |\n|---|:-:|\n", ":   ", "> ", "\x02", "\x03",
    "\x02wzxhzdk:0\x03", "<?php", "<![CDATA[", "&lt;",
]  # fmt: skip
CAPTIONS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=15).map("".join)


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.others: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


@settings(max_examples=200)
@given(CAPTIONS)
def test_a_caption_is_markdown_and_text(caption):
    html = captions._convert(caption)
    page = Tags(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    assert not page.others
    if any(captions._forbidden_attributes(html)):
        return
    for tag, attributes in page.tags:
        for name, value in attributes:
            assert not name.startswith("on")
            assert not re.match(r"\s*(java|data)", re.sub(r"[\t\n\r]", "", value or ""))
            assert tag != "img" or name != "src" or not re.match(r"[\s/\\]{2}|\w+:", value or "")
