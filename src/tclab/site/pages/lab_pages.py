"""Make a lab's page: its source and its run become a notebook, which mkdocs-jupyter renders.

The engine made the outputs; no code is executed here. Only the notebook of the rendered page is
kept: mkdocs-jupyter's styles and scripts are larger than the whole site, and a browser would load
two of them from another host.
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
from tclab.model import Artifact, Run, Text
from tclab.render.escape import SPACE, Html, esc, join, tag
from tclab.site.labs import handout, judge
from tclab.site.labs.cells import CELL, PRINTED
from tclab.site.labs.exercise import Exercise
from tclab.site.labs.source import Cell, Lab
from tclab.site.pages import downloads, fragments, proofs, state
from tclab.site.pages.book import Book
from tclab.site.pages.prose import references
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.rendering import Page

#: A notebook, or a part of one, in nbformat's structure.
NotebookPart = dict[str, object]

#: Folder of the labs' pages, in docs and in the site.
FOLDER = "labs"


def url(lab: Lab) -> str:
    """Return the path of the lab's page in the site."""
    return f"{FOLDER}/{lab.name}.html"


def add_files(files: Files, config: MkDocsConfig) -> None:
    """Replace each lab's source by its page, and add the exercise files to download."""
    book = state.build().book
    for source in [f for f in files if re.fullmatch(rf"{FOLDER}/lab\w+\.py", f.src_uri)]:
        files.remove(source)
    for lab in book.labs.values():
        for path, content in exercise_files(lab):
            files.append(File.generated(config, path, content=content))
        files.append(_page_file(lab, book, config))


def exercise_files(lab: Lab) -> Iterator[tuple[str, str]]:
    """Yield (path in the site, content) of the exercise as a script and as a notebook."""
    text = handout.script(lab)
    yield f"{downloads.FOLDER}/{FOLDER}/{lab.name}.py", text
    yield f"{downloads.FOLDER}/{FOLDER}/{lab.name}.ipynb", handout.notebook(text)


def _page_file(lab: Lab, book: Book, config: MkDocsConfig) -> File:
    """Write a page's notebook to disk, because mkdocs-jupyter reads only files on disk."""
    folder = book.store_path / "pages"
    path = folder / FOLDER / f"{lab.name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook(lab, book)), encoding="utf-8")
    return File(f"{FOLDER}/{path.name}", str(folder), config.site_dir, use_directory_urls=False)


def is_lab(page: SitePage) -> bool:
    """Return whether a MkDocs page is a lab's page."""
    return str(page.file.src_uri).startswith(f"{FOLDER}/lab")


_WRAPPER = re.compile(r'<div class="jupyter-wrapper">.*</div>', re.DOTALL)
_COPY_BUTTON = re.compile(
    r'<div class="zeroclipboard-container">.*?</clipboard-copy>\s*</div>', re.DOTALL
)
_COPY_TEXT = re.compile(r'<div [^>]*class="clipboard-copy-txt"[^>]*>.*?</div>', re.DOTALL)
_CODE = re.compile(r'(<div class="highlight-ipynb[^>]*>)<pre>')
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def extract_notebook(html: str) -> str:
    """Extract the notebook from mkdocs-jupyter's HTML, without its styles and copy buttons."""
    match = _WRAPPER.search(html)
    body = match[0] if match else html
    for pattern in (_STYLE, _COPY_BUTTON, _COPY_TEXT):
        body = pattern.sub("", body)
    # with tabindex, the keyboard can scroll the listing
    body = _CODE.sub(r'\1<pre tabindex="0">', body)
    return body.replace('class="anchor-link"', 'class="headerlink"')


# --------------------------------------------------------------------------- the notebook


def notebook(lab: Lab, book: Book) -> NotebookPart:
    """Return the solved lab with its outputs (nbformat 4.5)."""
    run = book.select_runs(lab.snippet.name, lab.snippet.file)[0]
    place = lab.snippet.file
    page = state.build().page(place, url(lab))
    outputs, exercises = _collect_outputs(run, page), _load_exercises(lab)
    answers = AnswerFolds()
    cells: list[NotebookPart] = []
    for number, cell in enumerate(lab.cells):
        if cell.kind == "markdown":
            prose = _linked_prose(book.cells[place, cell.line + 1], page, book)
            cells += answers.prose_cells(prose)
        else:
            cells += answers.code_cells(cell, _code_cells(cell, outputs.get(number, []), exercises))
        if number == 0:
            cells.append(_raw_cell(_download_bar(lab, run, page)))
    cells += answers.close()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, each in enumerate(cells):
        each.setdefault("id", f"{lab.name}-{number}")
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


#: Marks a text that asks the reader to predict a result.
_PREDICT = "*Predict"
#: The end of the answer to a prediction: the next heading or prediction.
_ANSWER_END = re.compile(r"\n\n(?=## |(?:[^\n]|\n(?!\n))*\*Predict)")


class AnswerFolds:
    """Puts the answer to each prediction into a fold: the cells that try out the prediction, and
    the prose after them.

    An answer ends at the next heading or prediction.
    """

    def __init__(self) -> None:
        self.is_asked = self.is_open = False

    def prose_cells(self, text: str) -> Iterator[NotebookPart]:
        """Yield the cells for a Markdown text; its first paragraphs may belong to an open fold."""
        answer, *rest = _ANSWER_END.split(f"\n\n{text}", maxsplit=1) if self.is_open else ("", text)
        if answer.strip():
            yield _markdown_cell(answer.strip())
        for other in rest:
            yield from self.close()
            self.is_asked = _PREDICT in other
            yield _markdown_cell(other)

    def code_cells(self, cell: Cell, parts: Iterator[NotebookPart]) -> Iterator[NotebookPart]:
        """Yield the `parts` made from a code cell; fold a cell that answers a prediction."""
        if not self.is_asked or "try" not in cell.tags:
            yield from self.close()
        elif not self.is_open:
            self.is_open = True
            yield _raw_cell(_fold_start("Predict, then open: what came of it"))
        yield from parts

    def close(self) -> Iterator[NotebookPart]:
        """End the fold if one is open."""
        if self.is_open:
            yield _raw_cell("</details>")
        self.is_open = False


def _linked_prose(text: PageText, page: Page, book: Book) -> str:
    """Convert the bindings of a cell's Markdown to marks, and its source references to links."""
    linked, problems = references.link_references(text, proofs.link_proofs(text, page.url, book))
    state.build().failures.extend(problems)
    return linked


def _code_cells(
    cell: Cell, outputs: list[NotebookPart], exercises: Sequence[Exercise]
) -> Iterator[NotebookPart]:
    """Yield a code cell; a solution is folded below the stub that the reader gets."""
    done = _make_cell("code", handout.solution(cell), outputs) | {"id": f"c{cell.line}"}
    if cell.has_solution:
        yield _make_cell("code", handout.stub(cell), [])
        yield from (_raw_cell(_check_steps(each)) for each in exercises if _is_solution(cell, each))
        yield from _folded_cell("One solution", done)
    elif "solved" in cell.tags:
        yield from _folded_cell("What came of it here", done)
    else:
        yield done


def _load_exercises(lab: Lab) -> Sequence[Exercise]:
    """Return the lab's exercises; empty for a lab without a checker, as in the tests."""
    checker = importlib.util.find_spec(f"tclab.site.labs.exercises.{lab.name}")
    return judge.load_exercises(lab.name) if checker else ()


def _is_solution(cell: Cell, exercise: Exercise) -> bool:
    """Return whether the cell defines the exercise's function or class."""
    return bool(re.search(rf"^(def|class) {exercise.name}\b", cell.text, re.MULTILINE))


def _check_steps(exercise: Exercise) -> Html:
    """List the steps of the check, folded because some of them hint at the answer."""
    items = (tag("li", esc(step.says)) for step in exercise.steps)
    head = tag("summary", esc("What the check asks of "), tag("code", esc(exercise.name)))
    return tag("details", head, tag("ul", *items), data_search_exclude="")


def _fold_start(title: str) -> str:
    """Return the HTML that begins a fold; a later raw cell ends it."""
    summary = tag("summary", esc(title), data_search_exclude="")
    return f'<details class="tclab-solution">{summary}'


def _folded_cell(title: str, cell: NotebookPart) -> Iterator[NotebookPart]:
    yield _raw_cell(_fold_start(title))
    yield cell
    yield _raw_cell("</details>")


def _make_cell(kind: str, source: str, outputs: list[NotebookPart]) -> NotebookPart:
    code = {"execution_count": None, "outputs": outputs} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}


def _markdown_cell(text: str) -> NotebookPart:
    return _make_cell("markdown", text, [])


def _raw_cell(html: str) -> NotebookPart:
    raw = _make_cell("raw", html, [])
    raw["metadata"] = {"raw_mimetype": "text/html"}
    return raw


def _download_bar(lab: Lab, run: Run, page: Page) -> Html:
    """Return the links to the exercise, the commands that check it, and the stamp of the run."""
    files = [path for path, _ in exercise_files(lab)]
    links = (
        tag("a", esc(f"Exercise {Path(path).suffix}"), href=page.link(path), download=True)
        for path in files
    )
    commands = f"tclab lab start {lab.number}\ntclab lab check {lab.number} {lab.name}.py --hint"
    block = tag("pre", tag("code", esc(commands)))
    return tag("div", tag("p", join(links, SPACE)), block, render.stamp(run), class_="tclab-lab")


# --------------------------------------------------------------------------- outputs


def _collect_outputs(run: Run, page: Page) -> dict[int, list[NotebookPart]]:
    """Map each cell's number to the outputs of the cell."""
    by_cell: dict[int, list[NotebookPart]] = {}
    number = 0
    for artifact in run.artifacts:
        if _has_name(artifact, CELL) and isinstance(artifact, Text):
            number = int(artifact.text)
        else:
            by_cell.setdefault(number, []).append(_make_output(run, artifact, page))
    return by_cell


def _has_name(artifact: Artifact, name: str) -> bool:
    """Return whether the artifact has this name, with or without a number."""
    return bool(re.fullmatch(rf"{name}(-\d+)?", artifact.name))


def _make_output(run: Run, artifact: Artifact, page: Page) -> NotebookPart:
    if _has_name(artifact, PRINTED) and isinstance(artifact, Text):
        return {"output_type": "stream", "name": "stdout", "text": artifact.text}
    prefix = page.unique_id(f"{run.snippet}-{artifact.name}")
    html = fragments.figure(page, run, artifact, prefix, fold=False, view=None, titled=True)
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}
