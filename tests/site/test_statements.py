"""Which sentences count as prose, and which numbers were typed."""

from __future__ import annotations

import pytest

from tclab.site.pages.prose import statements
from tclab.site.pages.prose.text import PageText

PAGE = """---
stage: dynamo
---
# A title of 300 ms

> It takes 300 ms. Why?

The first sentence. And `code of 20 ms`: then more.

1. An item.

```text
20 ms
```

| a | 20 ms |

## Where it lives

- The table: `src:torch.fx.Graph`
"""


def test_prose_is_what_a_reader_reads_as_sentences() -> None:
    assert [one.text for one in PageText("page.md", PAGE).statements] == [
        "The first sentence.",
        "And `code of 20 ms`: then more.",
        "An item.",
    ]


BLOCK = '```python exec="1" html="1"\nfrom tclab.site.pages import code, show, snippet\n{}\n```\n'
SHOWN = """Far from it.

- Two lines
- right before.

{0}

Right after.
On its second line.

Not any more.

## Heading

{1}

After code alone.

```sh
tclab list
```

After a command.
"""


def test_the_paragraphs_beside_an_output_stand_on_it() -> None:
    text = SHOWN.format(BLOCK.format('snippet("a/b")'), BLOCK.format('code("a/b")'))
    prose = PageText("page.md", text).statements
    assert [one.text for one in prose if one.shown] == [
        *("Two lines", "right before.", "Right after.", "On its second line.")
    ]
    assert not any(one.is_bound for one in prose) and len(prose) == 8


def test_a_number_from_a_run_is_shown() -> None:
    text = "It took [](value:a/b#times/first/time). Nobody knows why.\n"
    assert [one.shown for one in PageText("page.md", text).statements] == [True, False]


def test_an_output_that_the_search_leaves_out_shows_what_stands_around_it() -> None:
    block = BLOCK.format('show("a/b", "table")')
    text = f"Before.\n\n<div data-search-exclude markdown>\n\n{block}\n</div>\n\nBehind.\n"
    assert [one.shown for one in PageText("page.md", text).statements] == [True, True]


def test_a_heading_and_another_block_end_what_an_output_shows() -> None:
    block = BLOCK.format('show("a/b", "table")')
    text = f"Over a heading.\n\n## Heading\n\n{block}\n{block}\n## Next\n\nUnder a heading.\n"
    assert [one.shown for one in PageText("page.md", text).statements] == [False, False]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It took 1.5 ms, then 3 s.", ["1.5 ms", "3 s"]),
        ("It is 10.9× faster, by 20 %.", ["10.9×", "20 %"]),
        ("It has 512 results of 524,288.", ["512", "524,288"]),
        ("It took [](value:a/b#table/row/column).", []),
        ("[It made 12 graphs](claim:a/b#c).", []),
        (
            "Sizes 0 and 1, PyTorch 2.11, [PEP 523](https://x.org/0523), `x = 300`, 2.11 or newer.",
            [],
        ),
        ("12. The twelfth item.", []),
        ("For an H200, with sm_90 and float64.", []),
    ],
)
def test_a_number_that_a_run_could_have_made_is_found(text: str, numbers: list[str]) -> None:
    assert [number for _, number in statements.typed_numbers(PageText("page.md", text))] == numbers


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is always so, whatever you do.", ("always", "whatever")),
        ("[It is always so.](claim:a/b#c)", ()),
        ("[It is `x[0]`, always [](value:a/b#c/d/e).](claim:a/b#c) Any of them.", ("any",)),
        ("[All of it. None of it.](claim:a/b#c) No.", ("no",)),
        ("It is `only` here, and [so](every.md).", ()),
    ],
)
def test_words_of_every_case_are_found_outside_of_what_carries_them(
    text: str, words: tuple[str, ...]
) -> None:
    prose = PageText("page.md", text).statements
    assert tuple(word for one in prose for word in one.universal_words) == words


def test_an_output_carries_what_is_said_beside_it() -> None:
    text = SHOWN.replace("Far from it.", "Never far.").replace("Right after.", "Always after.")
    prose = PageText("page.md", text.format(BLOCK.format('show("a/b", "c")'), "")).statements
    assert [one.universal_words for one in prose if one.universal_words] == [("never",), ("any",)]
