"""The lexer of fences agrees with pymdownx.superfences, and its lines are the page's."""

from __future__ import annotations

import pytest
from markdown import Markdown

from tclab.errors import PageError
from tclab.site.pages.prose.markdown import MarkdownText

NESTED = """# A page

````md
```python exec="1"
shown, not run
```
````

=== "Tab"

    ```python exec="1" html="1"
    print("in a tab")
      # deeper
    ```

- item

    ~~~ python exec="yes" html="1" title="a b"
    x = 1
    ~~~

> ```py
> quoted
> ```
"""


def test_lines_languages_options_and_code() -> None:
    found = MarkdownText("", NESTED).fences
    assert [(f.line, f.end, f.language, f.is_executed) for f in found] == [
        (3, 7, "md", False),
        (11, 14, "python", True),
        (18, 20, "python", True),
        (22, 24, "py", False),
    ]
    assert found[1].code == 'print("in a tab")\n  # deeper'
    assert found[2].options == {"exec": "yes", "html": "1", "title": "a b"}
    assert found[3].code == "quoted"


def test_the_same_fences_as_superfences() -> None:
    seen: list[str] = []

    def keep(source: str, language: str, *_: object, **__: object) -> str:
        seen.append(f"{language}:{source.strip()}")
        return ""

    def take(language: str, inputs: dict[str, str], options: dict, *_: object) -> bool:
        options.update(inputs)
        return True

    names = ("python", "py", "md")
    custom = [{"name": n, "class": n, "format": keep, "validator": take} for n in names]
    extensions = ["pymdownx.superfences", "pymdownx.tabbed"]
    settings = {"pymdownx.superfences": {"custom_fences": custom}}
    Markdown(extensions=extensions, extension_configs=settings).convert(NESTED)
    assert seen == [f"{f.language}:{f.code.strip()}" for f in MarkdownText("", NESTED).fences]


def test_an_open_fence_is_an_error() -> None:
    with pytest.raises(PageError, match=r"docs/x\.md:2: this fence is never closed"):
        MarkdownText("docs/x.md", "text\n```python\nx").fences  # noqa: B018


@pytest.mark.parametrize("info", ["python exec=1", 'python exec="1', "python {exec"])
def test_an_info_string_that_superfences_would_ignore_is_an_error(info: str) -> None:
    with pytest.raises(PageError, match=r"docs/x\.md:1: cannot read the fence's info string"):
        MarkdownText("docs/x.md", f"```{info}\nx\n```").fences  # noqa: B018


@pytest.mark.parametrize(("value", "on"), [("1", True), ("on", True), ("0", False), ("no", False)])
def test_exec_is_read_as_markdown_exec_reads_it(value: str, on: bool) -> None:
    (fence,) = MarkdownText("", f'```python exec="{value}"\n```').fences
    assert fence.is_executed is on
