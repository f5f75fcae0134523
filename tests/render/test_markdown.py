"""The HTML passes unchanged through the Markdown that the site uses."""

from __future__ import annotations

import pytest
from artifacts_by_hand import ARTIFACTS, RUN, nasty
from read_html import Page

from tclab import render
from tclab.render.options import Options

markdown = pytest.importorskip("markdown")
pytest.importorskip("pymdownx")

EXTENSIONS = ["md_in_html", "attr_list", "pymdownx.superfences", "pymdownx.snippets", "tables"]
TEXTS = ["```\nfence\n```", '--8<-- "README.md"', "~~~\nx\n~~~", "\x02wzxhzdk:0\x03", "a\n\n\nb"]


def convert(text):
    settings = {"pymdownx.snippets": {"check_paths": True}}
    return markdown.markdown(text, extensions=EXTENSIONS, extension_configs=settings)


def seen(html):
    page = Page(html)
    return page.tags, "".join(page.text.split())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda a: a.name)
def test_raw_html_survives(artifact, text):
    html = render.figure(nasty(artifact, text), RUN, Options("p"))
    assert seen(convert(f"before\n\n{html}\n\nafter")) == seen(
        f"<p>before</p>\n{html}\n<p>after</p>"
    )


def test_the_stash_of_a_fence_survives():
    def formatter(*_args, **_kwargs):
        return render.run(nasty(RUN, TEXTS[3] + TEXTS[1]), Options("r"))

    fence = [{"name": "x", "class": "x", "format": formatter}]
    settings = {"pymdownx.superfences": {"custom_fences": fence}}
    out = markdown.markdown("```x\n```\n", extensions=EXTENSIONS, extension_configs=settings)
    assert seen(out) == seen(formatter())
