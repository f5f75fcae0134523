"""Any text in HTML: it is read back as it was, and adds no tag, attribute or line."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tclab.render.escape import clean, esc, one_line, script, tag

from .growth import assert_linear
from .test_captions import PIECES, Tags

TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=10).map("".join)


class Words(Tags):
    def __init__(self, html: str) -> None:
        self.words: list[str] = []
        super().__init__(html)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@given(TEXTS)
def test_a_text_comes_back_as_text(text):
    page = Words(tag("p", esc(text), title=text))
    assert page.tags == [("p", [("title", clean(text))])]
    assert "".join(page.words) == clean(text)
    assert not page.others


@given(TEXTS)
def test_clean_text_is_clean_and_has_the_lines_of_python(text):
    assert clean(clean(text)) == clean(text)
    assert clean(text).split("\n") == clean(text.replace("\r\n", "\n").replace("\r", "\n")).split(
        "\n"
    )
    assert "\n" not in one_line(text)
    clean(text).encode("utf-8")


@given(TEXTS)
@example("<!--<script></script>")
def test_data_neither_ends_its_element_nor_opens_another(text):
    html = script(text, type="application/json") + tag("p")
    assert html.count("<") == 4  # script, /script, p, /p
    assert [name for name, _ in Words(html).tags] == ["script", "p"]


@settings(max_examples=30)
@given(TEXTS.filter(bool))
def test_time_grows_with_the_text(text):
    assert_linear(lambda longer: tag("p", esc(longer), title=longer), text)
