"""A lab's page: its source and its run as a notebook, which mkdocs-jupyter renders.

The engine made the outputs; nothing is executed here. Of the page that comes back, what belongs to
it is kept: mkdocs-jupyter's own styles and scripts would weigh more than the site, and ask another
host for two of them.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage

from tclab import render
from tclab.labs import handout, judge
from tclab.labs.cells import CELL, PRINTED
from tclab.labs.exercise import Exercise
from tclab.labs.source import Cell, Lab
from tclab.model import Artifact, Run, Text
from tclab.page import downloads, fragments, proofs, state
from tclab.page.blocks import Page
from tclab.page.book import Book
from tclab.page.prose import references
from tclab.page.prose.text import PageText
from tclab.render.escape import SPACE, Html, esc, join, tag

#: A notebook, or a part of it, as nbformat has it.
NotebookPart = dict[str, object]

#: Folder of the labs' pages, in docs and in the site.
FOLDER = "labs"


def url(lab: Lab) -> str:
    """Where the lab's page lies in the site."""
    return f"{FOLDER}/{lab.name}.html"


def add_files(files: Files, config: MkDocsConfig) -> None:
    """In place of each lab's source its page, and the exercise and the solution to download."""
    book = state.build().book
    for source in [f for f in files if re.fullmatch(rf"{FOLDER}/lab\w+\.py", f.src_uri)]:
        files.remove(source)
    for lab in book.labs.values():
        for path, content in exercises(lab):
            files.append(File.generated(config, path, content=content))
        files.append(_page_file(lab, book, config))


def exercises(lab: Lab) -> Iterator[tuple[str, str]]:
    """(path in the site, content) of the exercise as a script and as a notebook."""
    text = handout.script(lab)
    yield f"{downloads.FOLDER}/{FOLDER}/{lab.name}.py", text
    yield f"{downloads.FOLDER}/{FOLDER}/{lab.name}.ipynb", handout.notebook(text)


def _page_file(lab: Lab, book: Book, config: MkDocsConfig) -> File:
    """The notebook of a page as a file on disk, for mkdocs-jupyter reads no other."""
    folder = book.store_path / "pages"
    path = folder / FOLDER / f"{lab.name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook(lab, book)), encoding="utf-8")
    return File(f"{FOLDER}/{path.name}", str(folder), config.site_dir, use_directory_urls=False)


def is_lab(page: SitePage) -> bool:
    """Whether a page of MkDocs is that of a lab."""
    return str(page.file.src_uri).startswith(f"{FOLDER}/lab")


_WRAPPER = re.compile(r'<div class="jupyter-wrapper">.*</div>', re.DOTALL)
_COPY = re.compile(r'<div class="zeroclipboard-container">.*?</clipboard-copy>\s*</div>', re.DOTALL)
_COPIED = re.compile(r'<div [^>]*class="clipboard-copy-txt"[^>]*>.*?</div>', re.DOTALL)
_CODE = re.compile(r'(<div class="highlight-ipynb[^>]*>)<pre>')
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def slim(html: str) -> str:
    """Of what mkdocs-jupyter made, the notebook itself; its classes are styled by the site."""
    match = _WRAPPER.search(html)
    body = match[0] if match else html
    for pattern in (_STYLE, _COPY, _COPIED):
        body = pattern.sub("", body)
    body = _CODE.sub(r'\1<pre tabindex="0">', body)  # what scrolls can be scrolled by key
    return body.replace('class="anchor-link"', 'class="headerlink"')


# --------------------------------------------------------------------------- the notebook


def notebook(lab: Lab, book: Book) -> NotebookPart:
    """The solved lab with its outputs (nbformat 4.5)."""
    run = book.runs_of(lab.snippet.name, lab.snippet.file)[0]
    place = lab.snippet.file
    page = state.build().page(place, url(lab))
    outputs, asked = _outputs(run, page), _asked(lab)
    answers = Answers()
    cells: list[NotebookPart] = []
    for number, cell in enumerate(lab.cells):
        if cell.kind == "markdown":
            cells += answers.prose(_prose(book.cells[place, cell.line + 1], page, book))
        else:
            cells += answers.code(cell, _code(cell, outputs.get(number, []), asked))
        if number == 0:
            cells.append(_raw(_bar(lab, run, page)))
    cells += answers.close()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, each in enumerate(cells):
        each.setdefault("id", f"{lab.name}-{number}")
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


#: Where a reader is asked to predict.
_PREDICT = "*Predict"
#: Where prose turns from what came of a prediction to something else.
_ELSEWHERE = re.compile(r"\n\n(?=## |(?:[^\n]|\n(?!\n))*\*Predict)")


class Answers:
    """Folds what answers a prediction: the cells that try it out, and the prose that follows them,
    up to the next heading or prediction.
    """

    def __init__(self) -> None:
        self.is_asked = self.is_open = False

    def prose(self, text: str) -> Iterator[NotebookPart]:
        """A cell of Markdown: of an open fold's, its first paragraphs."""
        answer, *rest = _ELSEWHERE.split(f"\n\n{text}", maxsplit=1) if self.is_open else ("", text)
        if answer.strip():
            yield _markdown(answer.strip())
        for other in rest:
            yield from self.close()
            self.is_asked = _PREDICT in other
            yield _markdown(other)

    def code(self, cell: Cell, made: Iterator[NotebookPart]) -> Iterator[NotebookPart]:
        """A cell of code: what tries something out is folded where a prediction is asked for."""
        if not self.is_asked or "try" not in cell.tags:
            yield from self.close()
        elif not self.is_open:
            self.is_open = True
            yield _raw(_opened("Predict, then open: what came of it"))
        yield from made

    def close(self) -> Iterator[NotebookPart]:
        """The end of the fold, where one is open."""
        if self.is_open:
            yield _raw("</details>")
        self.is_open = False


def _prose(text: PageText, page: Page, book: Book) -> str:
    """A cell's Markdown with its bindings as marks, its source references as links."""
    linked, problems = references.link(text, proofs.link(text, page.url, book))
    state.build().failures.extend(problems)
    return linked


def _code(
    cell: Cell, outputs: list[NotebookPart], exercises: Sequence[Exercise]
) -> Iterator[NotebookPart]:
    """A code cell; what solves it stands in a fold, below what the reader gets."""
    done = _cell("code", handout.solution(cell), outputs) | {"id": f"c{cell.line}"}
    if cell.solved:
        yield _cell("code", handout.stub(cell), [])
        yield from (_raw(_steps(each)) for each in exercises if _writes(cell, each))
        yield from _folded("One solution", done)
    elif "solved" in cell.tags:
        yield from _folded("What came of it here", done)
    else:
        yield done


def _asked(lab: Lab) -> Sequence[Exercise]:
    """The lab's exercises; none where nothing judges it, as for the labs of the tests."""
    judged = importlib.util.find_spec(f"tclab.labs.exercises.{lab.name}")
    return judge.load(lab.name) if judged else ()


def _writes(cell: Cell, exercise: Exercise) -> bool:
    """Whether the cell is where this exercise is solved."""
    return bool(re.search(rf"^(def|class) {exercise.name}\b", cell.text, re.MULTILINE))


def _steps(exercise: Exercise) -> Html:
    """What the check asks of an answer, step by step; folded, for some of it is half an answer."""
    items = (tag("li", esc(step.says)) for step in exercise.steps)
    head = tag("summary", esc("What the check asks of "), tag("code", esc(exercise.name)))
    return tag("details", head, tag("ul", *items), data_search_exclude="")


def _opened(title: str) -> str:
    """The beginning of a fold, which a raw cell ends."""
    summary = tag("summary", esc(title), data_search_exclude="")
    return f'<details class="tclab-solution">{summary}'


def _folded(title: str, cell: NotebookPart) -> Iterator[NotebookPart]:
    yield _raw(_opened(title))
    yield cell
    yield _raw("</details>")


def _cell(kind: str, source: str, outputs: list[NotebookPart]) -> NotebookPart:
    code = {"execution_count": None, "outputs": outputs} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}


def _markdown(text: str) -> NotebookPart:
    return _cell("markdown", text, [])


def _raw(html: str) -> NotebookPart:
    raw = _cell("raw", html, [])
    raw["metadata"] = {"raw_mimetype": "text/html"}
    return raw


def _bar(lab: Lab, run: Run, page: Page) -> Html:
    """The exercise to take away, how to check it, and what made this page."""
    files = [path for path, _ in exercises(lab)]
    links = (
        tag("a", esc(f"Exercise {Path(path).suffix}"), href=page.link(path), download=True)
        for path in files
    )
    commands = f"tclab lab start {lab.number}\ntclab lab check {lab.number} {lab.name}.py --hint"
    block = tag("pre", tag("code", esc(commands)))
    return tag("div", tag("p", join(links, SPACE)), block, render.stamp(run), class_="tclab-lab")


# --------------------------------------------------------------------------- outputs


def _outputs(run: Run, page: Page) -> dict[int, list[NotebookPart]]:
    """The outputs of each cell, by its number."""
    by_cell: dict[int, list[NotebookPart]] = {}
    number = 0
    for artifact in run.artifacts:
        if _is(artifact, CELL) and isinstance(artifact, Text):
            number = int(artifact.text)
        else:
            by_cell.setdefault(number, []).append(_output(run, artifact, page))
    return by_cell


def _is(artifact: Artifact, name: str) -> bool:
    """Whether it has this name, numbered or not."""
    return bool(re.fullmatch(rf"{name}(-\d+)?", artifact.name))


def _output(run: Run, artifact: Artifact, page: Page) -> NotebookPart:
    if _is(artifact, PRINTED) and isinstance(artifact, Text):
        return {"output_type": "stream", "name": "stdout", "text": artifact.text}
    prefix = page.unique(f"{run.snippet}-{artifact.name}")
    html = fragments.figure(page, run, artifact, prefix, fold=False, view=None, titled=True)
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}
