"""Text of a run within a sentence is text, and no binding is published as a link."""

from __future__ import annotations

import html

import markdown
import pytest

from tclab.render.escape import esc, tag
from tclab.site.pages import binding_html
from tclab.site.pages.prose.text import PageText

EXTENSIONS = ["abbr", "admonition", "attr_list", "def_list", "footnotes", "md_in_html", "tables",
              "toc", "pymdownx.details", "pymdownx.superfences",
              "pymdownx.inlinehilite"]  # fmt: skip

HOSTILE = (
    *("[x](javascript:alert(1)) **b**", "[x][r]", "![x](javascript:alert(1))", "<javascript:x>"),
    *("<https://a.b>", "<a@b.c>", "https://a.b", "*a* _b_ __c__", "`code`", "``x` y``"),
    *("<b onclick=x>b</b>", "<!-- x", "&lt;b&gt; &amp; &#60;", "a | b | c", "[^1]", "HTML and ms"),
    *("{: #id .c onclick=x }", "~~a~~ ^b^ ==c==", "# a", "- a", "1. a", ": a", "!!! note"),
    *("\x02klzzwxh:0000\x03", "a  \nb", "a\n\nb", "```", "--8<-- 'x'", "\"title\" 'x'", "]: x"),
    *("](claim:a/b#c)", "[](value:a/b#c/d/e)", "1.2e-07", "\N{NO-BREAK SPACE}s", "</span>"),
    *(r"\*a\* \\", "#!py x"),
)
AROUND = "\n\n[r]: javascript:x\n\n[^1]: A note.\n\n*[HTML]: Words\n*[ms]: Words\n"


PLACES = "It took {}, *not* more.\n\n| a | b |\n| --- | --- |\n| {} | 2 |\n\n"
PLACES += "[{}](x.md) and **{}**\n\n- {}\n\n??? note\n\n    {} is\n\n{}"


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_makes_nothing_of_a_text(text: str) -> None:
    element = tag("span", esc(text), class_="tclab-number", title=text)
    page = PLACES.replace("{}", binding_html.protect_from_markdown(element)) + AROUND
    made = binding_html.restore_text(markdown.markdown(page, extensions=EXTENSIONS))
    assert made.count(element) == PLACES.count("{}")
    plain = markdown.markdown(PLACES.replace("{}", "<i></i>") + AROUND, extensions=EXTENSIONS)
    assert made.replace(element, "<i></i>") == plain


LEFT = {
    "[A.](CLAIM:start/hello#two)": "CLAIM:start/hello#two",
    '<a href="claim:start/hello#two">A.</a>': "claim:start/hello#two",
    "<a href='&#99;laim:start/hello#two'>A.</a>": "claim:start/hello#two",
    '<A HREF=" cla\nim:start/hello#two">A.</A>': " cla\nim:start/hello#two",
    "[A.][r]\n\n[r]: claim:start/hello#two": "claim:start/hello#two",
    "[r]\n\n[r]: <value:start/hello#times/eager/median>": "value:start/hello#times/eager/median",
    "[A.](<claim:start/hello#two>)": "claim:start/hello#two",
    "[A.]( claim:start/hello#two )": "claim:start/hello#two",
    "[A.](&#99;laim:start/hello#two)": "claim:start/hello#two",
    "[A.](claim:start/hello#two(x))": "claim:start/hello#two(x)",
    r"[A.](cl\aim:start/hello#two)": r"cl\aim:start/hello#two",
    r"[](v\alue:start/hello#times/eager/median)": r"v\alue:start/hello#times/eager/median",
    "![A.](claim:start/hello#two)": "",
    "![A.](value:start/hello#times/eager/median)": "value:start/hello#times/eager/median",
    "[typed 99](value:start/hello#times/eager/median)": "value:start/hello#times/eager/median",
    "[](VALUE:start/hello#times/eager/median)": "VALUE:start/hello#times/eager/median",
    '[](value:start/hello#times/eager/median "t")': "",
    "[ ](value:start/hello#times/eager/median)": "value:start/hello#times/eager/median",
    "[](claim%3Astart/hello#two)": "claim%3Astart/hello#two",
    "<claim:start/hello#two>": "claim:start",
    '<img src="value:start/hello#times/eager/median">': "value:start/hello#times/eager/median",
    '<form action="claim:x/y#z"></form>': "claim:x/y#z",
    "[A.] (claim:start/hello#two)": "claim:start/hello#",
    "Value: start/hello#times/eager/median": "Value: start/hello#",
    '!!! note "[A.](Claim:start/hello#two)"\n    x': "Claim:start/hello#two",
    "x[^1]\n\n[^1]: [A.](Claim:start/hello#two)": "Claim:start/hello#two",
    "[A.](claim:start/hello#two": "claim:start/hello#",
}


@pytest.mark.parametrize(("written", "left"), [pair for pair in LEFT.items() if pair[1]])
def test_a_binding_that_is_left_is_named_with_its_line(written: str, left: str) -> None:
    text = PageText("docs/p.md", f"# Home\n\n{written}\n")
    made = markdown.markdown(text.text, extensions=EXTENSIONS)
    errors = list(binding_html.find_leftover_bindings(made, "docs/p.md", text))
    assert repr(left) in str(errors[0]) and "\n  next: " in str(errors[0])
    assert html.unescape(errors[0].place).startswith("docs/p.md")


@pytest.mark.parametrize(
    "fine",
    ["`[A.](claim:a/b#c)`", "```\n[](VALUE:a/b#c/d/e)\n```", "A claim: it holds. Value: 3/4#5",
     "[the claim](claims.md#value:x)", "`<a href='claim:a/b#c'>`", "[a](https://x.y/claim:a/b#c)",
     '<i title="value: 3">x</i>', "    [A.](CLAIM:a/b#c)", "<meta content='value 3'>"],
)  # fmt: skip
def test_what_speaks_of_bindings_is_none(fine: str) -> None:
    made = markdown.markdown(f"{fine}\n", extensions=EXTENSIONS)
    assert not list(binding_html.find_leftover_bindings(made, "docs/p.md", None))


SNIPPET = '''"""Count."""

import tclab

tclab.show(tclab.Table("Times", "times", ("what", "median"), (("eager", {cell!r}),)))
two, x = 2, {{1: [int]}}
# claim: two
assert two == 2 and x[1][0](1) and "[x](javascript:alert(1)) *b* `c" and "|"
'''
PAGE = """# Home

[It is two.](claim:start/hello#two) It took [](value:start/hello#times/eager/median).

| a | b |
| --- | --- |
| [It is.](claim:start/hello#two) | [](value:start/hello#times/eager/median) |

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```
"""


def test_a_page_shows_the_text_of_a_cell_and_of_an_assert_as_it_is(project) -> None:
    cell = r"[x](javascript:alert(1)) **b** \* `c` | <b>"
    project.write("snippets/start/hello.py", SNIPPET.format(cell=cell))
    project.write("docs/index.md", PAGE)
    done = project.build("--strict")
    assert done.returncode == 0, done.stdout
    page = project.html()
    assert 'href="javascript' not in page
    assert page.count(f">{esc(cell)}</span>") == 2
    assert page.count("[x](javascript:alert(1)) *b* &#96;c&#39; and &#39;|&#39;") == 2


def test_a_build_with_bindings_in_other_spellings_names_each(project) -> None:
    project.write("snippets/start/hello.py", SNIPPET.format(cell=1))
    left = {written: each for written, each in LEFT.items() if each}
    project.write("docs/index.md", PAGE + "\n" + "\n\n".join(left))
    output = project.fails()
    assert all(f"the binding {each!r} is not written as one" in output for each in left.values())
