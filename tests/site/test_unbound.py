"""Which sentences count as prose, and which numbers were typed."""

from __future__ import annotations

import pytest

from tclab.page.prose import unbound

PAGE = """---
stage: dynamo
---
# A title of 300 ms

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
    assert list(unbound.prose(PAGE, "page.md")) == [
        "The first sentence.",
        "And `code of 20 ms`: then more.",
        "An item.",
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It took 1.5 ms, then 3 s.", ["1.5 ms", "3 s"]),
        ("It is 10.9× faster, by 20 %.", ["10.9×", "20 %"]),
        ("It has 512 results of 524,288.", ["512", "524,288"]),
        ("It took [](value:a/b#table/row/column).", []),
        ("[It made 12 graphs](claim:a/b#c).", []),
        ("Sizes 0 and 1, PyTorch 2.11, [PEP 523](https://x.org/0523), `x = 300`, 2.11 or newer.", []),
        ("12. The twelfth item.", []),
        ("For an H200, with sm_90 and float64.", []),
    ],
)
def test_a_number_that_a_run_could_have_made_is_found(text: str, numbers: list[str]) -> None:
    assert [number for _, number in unbound.typed_numbers(text, "page.md")] == numbers
