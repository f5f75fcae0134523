"""Text of a run is escaped: mypy holds it by the type `Html`, these tests what mypy cannot see.

Text becomes `Html` in the functions named here only, and a template stands where it is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src/tclab"

#: The functions that make HTML of a string, each looked through; "" is the top of a module.
MAKERS = {
    "render/escape.py": {
        *("", "esc", "allow_breaks", "markup", "join", "attributes", "tag", "script", "identifier"),
    },
    "render/kinds/chart.py": {"_extract_drawing"},  # what Matplotlib wrote
    "render/viewer/lines.py": {"_fold_types", "_escape_content"},  # marks in HTML; fewer entities
    "render/standalone.py": {"style_element"},  # a style sheet of our own
    "site/pages/fragments.py": {"figure", "cached_html"},  # what was Html when it was kept
    "site/pages/site/stamps.py": {"_shorten"},  # parts of a stamp that was Html
    "site/pages/site/unbroken.py": {"keep_words"},  # what Markdown made of a page, and spans in it
    "site/pages/captions.py": {"make"},  # what Markdown makes of a caption of our own
}


def calls(name: str) -> Iterator[tuple[str, str, ast.Call]]:
    """(module, function around it, call) of each call of `name`."""
    for path in sorted(SRC.rglob("*.py")):
        module = path.relative_to(SRC).as_posix()
        for around, call in _within(ast.parse(path.read_text(encoding="utf-8")), ""):
            if name in (getattr(call.func, "id", ""), getattr(call.func, "attr", "")):
                yield module, around, call


def _within(node: ast.AST, around: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield around, child
        inner = child.name if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else around
        yield from _within(child, inner)


def test_html_is_made_of_strings_in_few_functions():
    makers: dict[str, set[str]] = {}
    for module, around, _ in calls("Html"):
        makers.setdefault(module, set()).add(around)
    assert makers == MAKERS


def test_a_template_is_written_out_where_it_is_used():
    templates = [(module, call.lineno, call.args[0]) for module, _, call in calls("markup")]
    assert len(templates) > 20
    wrong = [
        f"{module}:{line}"
        for module, line, template in templates
        if not (isinstance(template, ast.Constant) and isinstance(template.value, str))
    ]
    assert not wrong


def test_nothing_is_taken_for_html_unseen():
    """Neither by a cast nor by `map(Html, …)`."""
    casts = [f"{module}:{call.lineno}" for module, _, call in calls("cast") if _names(call)]
    maps = [f"{module}:{call.lineno}" for module, _, call in calls("map") if _names(call)]
    assert not [*casts, *maps]


def _names(call: ast.Call) -> bool:
    return "Html" in ast.unparse(call.args[0]).split(".")
