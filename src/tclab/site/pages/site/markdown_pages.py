"""Write each page as Markdown with its outputs, and `llms.txt`, which lists these files.

The files are for programs, and for readers who quote a page. Blocks are replaced by the snippet's
code and its outputs as text, bound sentences by their words, values by their numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclab import render
from tclab.model import Artifact, Candidates, Run, Table, Text, encode
from tclab.render.kinds import candidates, plain
from tclab.render.kinds.table import cell_texts, column_headings
from tclab.site.pages import fragments, numbers, outputs, proofs, run_groups
from tclab.site.pages.book import Book
from tclab.site.pages.prose.blocks import Call
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.reference import machine_code

#: The most lines of an output; the HTML page has all of them.
MOST_LINES = 150

_ABOUT_SKILL = (
    "On your own code: `tclab explain FILE.py:NAME --format brief` prints what to change as JSON; "
    "`skills/torch-compile/SKILL.md` in the package says which command answers which question."
)
_ABOUT_MARKS = (
    "A ✓ in a page leads to the assert that proves the sentence before it; its title says under "
    "which PyTorch and on which device it held."
)

_SOURCE = re.compile(r"`src:([\w.]+)`")
_LINK = re.compile(r"(\]\([^():\s]+)\.md(#[^)\s]*)?\)")


@dataclass(frozen=True)
class ListedPage:
    """A page's entry in `llms.txt`."""

    section: str
    title: str
    url: str
    description: str


def markdown_url(url: str) -> str:
    """Return the address of a page's Markdown: the page's address with ``.md`` appended."""
    return f"{url}.md"


def write(folder: Path, book: Book, pages: list[ListedPage], site: Mapping[str, str]) -> None:
    """Write each Markdown page with its outputs, and `llms.txt`, into the site's `folder`."""
    for page in pages:
        if text := book.page_at(page.url):
            (folder / markdown_url(page.url)).write_text(
                page_markdown(text, book), encoding="utf-8"
            )
    (folder / "llms.txt").write_text(llms_text(folder, pages, site), encoding="utf-8")


def llms_text(folder: Path, pages: list[ListedPage], site: Mapping[str, str]) -> str:
    """Return the text of `llms.txt`: title, summary, and a link to each page's Markdown, or else
    its HTML.
    """
    lines = [
        f"# {site['name']}",
        "",
        f"> {site['description']}",
        "",
        _ABOUT_MARKS,
        "",
        _ABOUT_SKILL,
    ]
    section = None
    for page in pages:
        if page.section != section:
            section = page.section
            lines += ["", f"## {section}", ""]
        has_markdown = (folder / markdown_url(page.url)).is_file()
        address = site["url"] + (markdown_url(page.url) if has_markdown else page.url)
        lines.append(f"- [{page.title}]({address}): {page.description}")
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------- a page


def page_markdown(text: PageText, book: Book) -> str:
    """Return the page's Markdown, with its blocks replaced by their outputs as text.

    Claims are replaced by their sentences with scope and proof, values by numbers, source
    references by names.
    """
    lines = proofs.replace_bindings(
        text,
        lambda sentence, words: proofs.sentence_markdown(
            sentence, words, book.url(text.page), book
        ),
        lambda value: _escape(numbers.number_text(value, book)),
    ).split("\n")
    for block in reversed(text.blocks):
        outputs = [line for call in block.calls for line in _call_lines(call, book)]
        lines[block.line - 1 : block.end] = outputs
    markdown = "\n".join(lines[text.body_line - 1 :])
    return _LINK.sub(r"\1.html.md\2)", _SOURCE.sub(r"`\1`", markdown))


def _call_lines(call: Call, book: Book) -> Iterator[str]:
    if call.function == "instructions":
        yield from (*_artifact_lines(machine_code.table(book, str(call.options["stage"]))), "")
    if not call.snippet:
        return
    snippet = book.all_snippets[call.snippet]
    if call.kind.has_caption and call.options.get("caption") is not False:
        yield from (*snippet.caption.split("\n"), "")
    if call.lists_code:
        yield from _fence_lines(snippet.source, "python")
    if call.kind.output:
        yield from _run_lines(book.runs.get(snippet.name, ()), call)


def _run_lines(runs: Sequence[Run], call: Call) -> Iterator[str]:
    """Yield the outputs of the runs, equal ones once, as on the page."""
    for groups in run_groups.group_artifacts(runs, lambda run: _artifacts_for(run, call)):
        for group in groups:
            for artifact in group.artifacts:
                yield from _artifact_lines(artifact)
            yield from (f"*{_escape(render.stamp_text(*group.runs))}*", "")


def _artifacts_for(run: Run, call: Call) -> list[Artifact]:
    if call.kind.output == "stdout":
        return outputs.stdout_artifacts(run)
    if call.kind.output == "everything":
        return outputs.all_outputs(run)
    return [
        each
        for each in run.artifacts
        if call.artifact_names is None or each.name in call.artifact_names
    ]


def _artifact_lines(artifact: Artifact) -> list[str]:
    """Return the lines of an artifact: a Markdown table, or the text for a terminal (cached on
    disk).
    """
    if isinstance(artifact, Candidates):
        artifact = candidates.to_table(artifact)
    if isinstance(artifact, Text) and artifact.name == "stdout":
        return list(_fence_lines(artifact.text, "text"))
    if isinstance(artifact, Text) and (language := plain.language(artifact)) != "text":
        return [f"**{_escape(artifact.title)}**", "", *_fence_lines(artifact.text, language)]
    if isinstance(artifact, Table):
        return [f"**{_escape(artifact.title)}**", "", *_table_lines(artifact), ""]
    text = fragments.cached(lambda: json.dumps(render.text(artifact)), "text", encode(artifact))
    return list(_fence_lines(json.loads(text), "text"))


def _table_lines(table: Table) -> Iterator[str]:
    head = [name or " " for name in column_headings(table)]
    for row in (head, ["---"] * len(head), *cell_texts(table)):
        yield f"| {' | '.join(map(_format_cell, row))} |"


def _format_cell(text: str) -> str:
    return _escape(text).replace("|", "\\|")


#: Characters that Markdown reads as markup; a ``_`` between letters and single brackets are not
#: markup.
_MARKUP = re.compile(r"[\\`*<>&~]|\](?=[(\[:])|(?<!\w)_|_(?!\w)")


def _escape(text: str) -> str:
    """Return a run's text on one line, escaped so that Markdown shows it unchanged."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _fence_lines(text: str, language: str) -> Iterator[str]:
    """Fence the text, cut after MOST_LINES; the fence is longer than any inside the text."""
    lines = text.rstrip("\n").split("\n")
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    hidden = len(lines) - MOST_LINES
    yield ticks + language
    yield from lines[:MOST_LINES]
    yield ticks
    yield from (f"… and {hidden:,} more lines, on the page itself.", "") if hidden > 0 else ("",)
