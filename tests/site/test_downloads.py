"""The notebook of a snippet is valid, complete, runs, and is the same each time."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from tclab.model import Snippet
from tclab.site.pages import downloads

SOURCE = '''"""Title.

Caption *here*.
"""
# tclab: timeout=5

from _shared import two

x = two()
'''


@pytest.fixture
def snippet(tmp_path: Path) -> Snippet:
    include = tmp_path / "_shared.py"
    include.write_text("def two():\n    return 2\n", encoding="utf-8")
    path = tmp_path / "a.py"
    return Snippet("start/a", path, "Title.", "Caption *here*.", SOURCE, includes=(include,))


def test_the_notebook_is_valid_and_deterministic(snippet: Snippet) -> None:
    text = downloads.notebook(snippet, "2.13.0+cpu", "3.7.1")
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text == downloads.notebook(snippet, "2.13.0+cpu", "3.7.1")
    ids = [cell["id"] for cell in json.loads(text)["cells"]]
    assert len(ids) == len(set(ids))


def test_caption_install_includes_and_code_stand_in_this_order(snippet: Snippet) -> None:
    cells = json.loads(downloads.notebook(snippet, "2.13.0+cpu", "3.7.1"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code", "code"]
    assert sources[0] == "# Title.\n\nCaption *here*."
    assert "torch==2.13.0 triton==3.7.1" in sources[1]
    assert all(line.startswith("#") for line in sources[1].splitlines())
    assert sources[2].startswith("%%writefile _shared.py\ndef two")
    assert sources[3].endswith("x = two()")
    assert "Caption" not in sources[3]


def test_includes_are_downloads_too(snippet: Snippet) -> None:
    paths = {path for path, _ in downloads.download_files(snippet, "2.13.0", "3.7.1")}
    assert paths == {
        "downloads/start/a.py",
        "downloads/start/a.ipynb",
        "downloads/start/_shared.py",
    }
