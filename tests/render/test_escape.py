from __future__ import annotations

import re
import unicodedata

import pytest
from artifacts_by_hand import ARTIFACTS, RUN, SNIPPET, nasty
from read_html import Page

from tclab import render
from tclab.render.escape import clean, esc
from tclab.render.options import Options

NASTY = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "' onfocus='alert(1)",
    "</code></pre></figure></svg></a><b>",
    "]]> <!-- --> <?xml?> <!DOCTYPE x>",
    "&lt;b&gt; &amp; &#60; &copy; &nosuch;",
    "```\nfence\n```",
    "~~~\nfence\n~~~",
    '--8<-- "README.md"',
    '\n;--8<--\n--8<-- "mkdocs.yml"\n--8<--\n',
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\x02wzxhzdk:0\x03 \x02klzzwxh:0001\x03",
    "\x00\x08\x0b\x0c\x7f\x85\u2028\u2029\ufeff\ufffe",
    "a\r\nb\rc",
    "\ud800 lone \udfff",
    "\u202eevil\u202c \u2066x\u2069",
    "$x^2$ \\$ _hidden %d {0} {{ jinja }} {% raw %}",
    "[link](http://x) ![i](x) *a* _b_ # h | c |",
    "javascript:alert(1)",
    "ünïcödé 漢字 🙂 é ﷽",
    "x" * 3000,
    "",
    " ",
    "\n\n\n",
    "\t\ttabs",
]


TAGS = frozenset(
    [
        "a",
        "b",
        "br",
        "button",
        "circle",
        "clippath",
        "code",
        "dd",
        "defs",
        "del",
        "desc",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "g",
        "h2",
        "h3",
        "header",
        "i",
        "input",
        "ins",
        "label",
        "li",
        "marker",
        "nav",
        "ol",
        "output",
        "p",
        "path",
        "pre",
        "rect",
        "section",
        "small",
        "span",
        "strong",
        "summary",
        "svg",
        "t-c",
        "t-l",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
        "use",
        "wbr",
    ]
)


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda a: a.name)
def test_any_text_is_shown_as_text(artifact):
    for text in NASTY:
        check_html(artifact, text)


def check_html(artifact, text):
    """No element, link or handler of a page comes from the text."""
    html = render.figure(nasty(artifact, text), RUN, Options("p", fold=False))
    page = Page(html)
    assert {tag for tag, _ in page.tags} - {"script"} <= TAGS
    # The numbers of a chain's linked lines: nothing of the text, and nothing that runs.
    data = re.findall(r"<script(.*?)</script>", html, re.DOTALL)
    assert len(page.named("script")) == len(data) == {"chain": 1, "report": 2}.get(artifact.kind, 0)
    assert all(re.fullmatch(r' type="application/json">\{[\w",:\[\]{}-]*\}', each) for each in data)
    names = {name for _, attrs in page.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert not [link for link in page.links if not link.startswith(("#", "https://github.com/"))]
    _holds_nothing_that_is_obeyed(html)


def _holds_nothing_that_is_obeyed(html):
    assert "`" not in html and "~" not in html and "--8<--" not in html
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", html
    )
    html.encode("utf-8")


def test_lines_are_those_that_python_counts():
    assert clean("a\r\nb\rc\nd").count("\n") == 3
    assert "\n" not in clean("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda a: a.name)
def test_terminals_get_no_control_characters(artifact):
    for text in NASTY:
        shown = render.text(nasty(artifact, text))
        bad = {c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"}
        assert not bad, text


def test_the_words_of_a_text_are_all_there():
    for text in NASTY:
        shown = Page(render.html(nasty(ARTIFACTS[-1], text), Options("p"))).text
        assert clean(text).strip() in shown or not text.strip()


def test_stamp_source_and_output_escape_too():
    from dataclasses import replace

    for text in NASTY:
        run = nasty(RUN, text)
        run = replace(run, artifacts=run.artifacts[:3])  # each is looked at by itself above
        snippet = replace(SNIPPET, source=text, name=text)
        pieces = [
            render.stamp(run),
            render.output(run, Options("o")),
            render.run(run, Options("r")),
        ]
        for html in [*pieces, render.source(snippet, Options("s"))]:
            Page(html)
            _holds_nothing_that_is_obeyed(html)
        assert "\x1b" not in render.run_text(run)


def test_esc_is_complete():
    assert esc("<&>\"'`~") == "&lt;&amp;&gt;&quot;&#39;&#96;&#126;"
    assert clean("a\r\nb\x1b[1m") == "a\nb␛[1m"
