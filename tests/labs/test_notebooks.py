"""In a real Jupyter kernel: solved notebooks to their end, exercises to what is unsolved."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tclab.site.labs import handout, source
from tests.labs import answers_read

ROOT = Path(__file__).resolve().parents[2]
LABS = source.find(ROOT)
#: With a drawing, and with a viewer. Each lab runs as a snippet, too: with these, as a notebook.
SHOWN = {2: "<svg", 4: 'class="tclab-chain"'}


def ran(text: str, folder: Path, *, errors: bool = False):
    from nbclient import NotebookClient  # slow to import, in each process that collects tests

    book = nbformat.reads(handout.notebook(text), as_version=4)
    nbformat.validate(book)
    client = NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        allow_errors=errors,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def html(book) -> str:
    """Return all that the cells show richly."""
    outputs = (o for cell in book.cells for o in cell.get("outputs", ()))
    return "".join(o.get("data", {}).get("text/html", "") for o in outputs)


@pytest.mark.parametrize(
    "lab", [lab for lab in LABS if lab.number in SHOWN], ids=lambda lab: lab.name
)
def test_a_solved_notebook_runs_and_shows_richly(lab, tmp_path):
    outputs = html(ran(answers_read.whole(lab), tmp_path))
    assert "<figure" in outputs
    assert "<table" in outputs
    assert SHOWN[lab.number] in outputs
    assert ("<script>" in outputs) == (lab.number == 4)


def test_an_exercise_as_downloaded_raises_only_where_it_is_unsolved(tmp_path):
    book = ran(handout.script(LABS[1]), tmp_path, errors=True)
    errors = [o.ename for cell in book.cells for o in cell.get("outputs", ()) if "ename" in o]
    assert errors == ["NotImplementedError"] * 4
