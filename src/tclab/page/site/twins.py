"""Each page as Markdown with its outputs, and `llms.txt`, which lists them: for readers that are
programs, and for whoever wants to quote a page.

The Markdown is the page's own; where a block stands the twin has the snippet's code and what its
run showed as text, a claim is its sentence, a value its number.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclab import render
from tclab.model import Artifact, Candidates, Run, Table, Text, encode
from tclab.page import alike, fragments, outputs, proofs
from tclab.page.book import Book
from tclab.page.prose import uses
from tclab.page.prose.text import PageText
from tclab.page.reference import machine_code
from tclab.render.kinds import candidates
from tclab.render.kinds.table import cells, heads

#: Longer outputs are cut: the page has all of it.
LONGEST = 150

_SOURCE = re.compile(r"`src:([\w.]+)`")
_LINK = re.compile(r"(\]\([^():\s]+)\.md(#[^)\s]*)?\)")


@dataclass(frozen=True)
class Listed:
    """A page as `llms.txt` names it."""

    section: str
    title: str
    url: str
    description: str


def name_of(url: str) -> str:
    """Where the twin of a page is: its address with ``.md`` behind it."""
    return f"{url}.md"


def write(folder: Path, book: Book, pages: list[Listed], about: Mapping[str, str]) -> None:
    """Write a twin for each page that is Markdown, and `llms.txt` into the site's `folder`."""
    for page in pages:
        if text := book.page_at(page.url):
            (folder / name_of(page.url)).write_text(twin(text, book), encoding="utf-8")
    (folder / "llms.txt").write_text(listing(folder, pages, about), encoding="utf-8")


def listing(folder: Path, pages: list[Listed], about: Mapping[str, str]) -> str:
    """The text of `llms.txt`: title, summary, a link to each page's twin, or to the page."""
    lines = [f"# {about['name']}", "", f"> {about['description']}"]
    section = None
    for page in pages:
        if page.section != section:
            section = page.section
            lines += ["", f"## {section}", ""]
        twin_there = (folder / name_of(page.url)).is_file()
        address = about["url"] + (name_of(page.url) if twin_there else page.url)
        lines.append(f"- [{page.title}]({address}): {page.description}")
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------- a page


def twin(text: PageText, book: Book) -> str:
    """The page's Markdown with the outputs of its blocks as text; claims are their sentences,
    values numbers, references names.
    """
    lines = proofs.written(
        text, lambda _, words: words, lambda value: proofs.number_text(value, book)
    ).split("\n")
    for fence in reversed(text.fences):
        if fence.executed:
            outputs = [line for call in fence.calls for line in _output(call, book)]
            lines[fence.line - 1 : fence.end] = outputs
    markdown = "\n".join(lines[text.body_line - 1 :])
    return _LINK.sub(r"\1.html.md\2)", _SOURCE.sub(r"`\1`", markdown))


def _output(call: ast.Call, book: Book) -> Iterator[str]:
    function = uses.called(call)
    if function == "instructions":
        yield from (*_shown(machine_code.table(book, ast.literal_eval(call.args[0]))), "")
        return
    if function not in uses.FUNCTIONS or not call.args:
        return
    snippet = book.all[ast.literal_eval(call.args[0])]
    if function in uses.CAPTIONED and not _without_caption(call):
        yield from (*snippet.caption.split("\n"), "")
    if function in uses.LISTING:
        yield from _fenced(snippet.source, "python")
    if function != "code":
        yield from _of_runs(book.runs.get(snippet.name, ()), _wanted(call, function), function)


def _without_caption(call: ast.Call) -> bool:
    return any(w.arg == "caption" and ast.literal_eval(w.value) is False for w in call.keywords)


def _wanted(call: ast.Call, function: str) -> list[str] | None:
    """The names of the artifacts that a call shows; None: all of them."""
    if function not in ("show", "entries", "calls"):
        return None
    given = [word.value for word in call.keywords if word.arg in ("artifact", "table")]
    named = [*call.args[1:], *given]
    if not named:
        return None
    value = ast.literal_eval(named[0])
    return [value] if isinstance(value, str) else value


def _of_runs(runs: Sequence[Run], wanted: list[str] | None, function: str) -> Iterator[str]:
    """What the runs show, as on the page: once what they show alike."""
    for together in alike.stretches(runs, lambda run: _chosen(run, wanted, function)):
        for each in together:
            for artifact in each.artifacts:
                yield from _shown(artifact)
            yield from (f"*{render.stamp_text(*each.runs)}*", "")


def _chosen(run: Run, wanted: list[str] | None, function: str) -> list[Artifact]:
    if function == "stdout":
        return outputs.stdout_of(run)
    if function in ("snippet", "awaited"):
        return outputs.everything(run)
    return [each for each in run.artifacts if wanted is None or each.name in wanted]


def _shown(artifact: Artifact) -> list[str]:
    """A table as a table, all else as the text a terminal gets; kept on disk."""
    if isinstance(artifact, Candidates):
        artifact = candidates.in_rows(artifact)
    if isinstance(artifact, Text) and artifact.name == "stdout":
        return list(_fenced(artifact.text, "text"))
    if isinstance(artifact, Table):
        return [f"**{artifact.title}**", "", *_table(artifact), ""]
    text = fragments.cached(lambda: json.dumps(render.text(artifact)), "text", encode(artifact))
    return list(_fenced(json.loads(text), "text"))


def _table(table: Table) -> Iterator[str]:
    head = [name or " " for name in heads(table)]
    for row in (head, ["---"] * len(head), *cells(table)):
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _fenced(text: str, language: str) -> Iterator[str]:
    """A fence longer than any in the text, which is cut where it is long."""
    lines = text.rstrip("\n").split("\n")
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    more = len(lines) - LONGEST
    yield ticks + language
    yield from lines[:LONGEST]
    yield ticks
    yield from (f"… and {more:,} more lines, on the page itself.", "") if more > 0 else ("",)
