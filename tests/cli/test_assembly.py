"""``--format asm``, and the wrapper of Compiler Explorer around it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tclab.model import Chain, Listing, Problem, Provenance, Report
from tclab.render.report import assembly

ROOT = Path(__file__).parents[2]
WRAPPER = ROOT / "src/tclab/contrib/compiler_explorer.py"
SOURCE = """\
import torch


def scale(x, y):
    z = torch.sin(x)
    return z / (1 + y)


def example_inputs():
    return torch.randn(8, 1024), torch.randn(8, 1024)
"""


def lines_of_instructions(text: str) -> Iterator[tuple[int, str]]:
    """Yield each instruction with its line as a reader of `.loc` sees it: the last one said; 0 for
    none.
    """
    line = 0
    for each in text.splitlines():
        mark = re.fullmatch(r"\t\.loc \d+ (\d+) 0", each)
        if mark:
            line = int(mark[1])
        elif re.match(r"\s+/\*[0-9a-f]{4,}\*/", each):
            yield line, each.split("*/", 1)[1].strip()


def report(*panes: Listing, **fields: object) -> Report:
    return Report(title="f", name="report", chains=(Chain(panes=panes),), **fields)  # type: ignore[arg-type]


PYTHON = Listing(
    code="def f(x):\n    y = x + 1\n    return y * 2\n", stage="python", filename="m.py",
    first_line=7, marks={2: ("py:m.py:8",), 3: ("py:m.py:9",)},
)  # fmt: skip
SASS = Listing(
    title="SASS of k", stage="sass",
    code='\t//## File "k.py", line 3\n  /*0000*/ S2R R0 ;\n  /*0010*/ FADD R1 ;\n'
    "  /*0020*/ FMUL R1 ;\n",
    links={3: ("py:m.py:8",), 4: ("py:m.py:9",)},
)  # fmt: skip


def test_instructions_are_below_their_line_of_python() -> None:
    text = assembly.text(report(PYTHON, SASS))
    found = list(lines_of_instructions(text))
    assert found == [(0, "S2R R0 ;"), (8, "FADD R1 ;"), (9, "FMUL R1 ;")]
    assert '\t.file 1 "m.py"\n' in text and "k.py" not in text


def test_an_instruction_without_a_line_does_not_keep_the_last_one() -> None:
    code = "  /*0000*/ FADD R1 ;\n  /*0010*/ EXIT ;\n"
    sass = Listing(stage="sass", code=code, links={1: ("py:m.py:8",)})
    text = assembly.text(report(PYTHON, sass))
    assert [line for line, _ in lines_of_instructions(text)] == [8, 0]


def test_ptx_where_there_is_no_sass_and_what_is_missing() -> None:
    ptx = Listing(stage="ptx", code="\t.loc 1 3 0\n\tadd.f32 %f1 ;\n", links={2: ("py:m.py:9",)})
    text = assembly.text(report(PYTHON, ptx, gaps=(Problem("SASS", "no nvdisasm", "x"),)))
    assert "\t.loc 1 9 0\n\tadd.f32" in text and ".loc 1 3" not in text
    assert "# missing: " in text and "add.f32" not in assembly.text(report(PYTHON, ptx, SASS))
    assert "# no kernel" in assembly.text(report(PYTHON))


def test_the_head_says_what_the_code_is_for() -> None:
    made_by = Provenance("2.13.0", "", "3.11", "a CPU", "Linux", "2026-11-29")
    text = assembly.text(report(PYTHON, SASS, provenance=made_by, target="a GPU\nof AMD's"))
    assert text.startswith("# f\n# code for a GPU of AMD's\n# PyTorch 2.13.0")


def run_wrapper(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run it as Compiler Explorer does: isolated, files before the options of the reader."""
    command = [sys.executable, "-I", str(WRAPPER), "--outputfile", "output.s", "--inputfile"]
    command += ["example.py", *options]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


@pytest.mark.snippet
def test_the_wrapper_writes_instructions_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(SOURCE)
    ended = run_wrapper(tmp_path, "--target", "h200")
    assert ended.returncode == 0, ended.stderr
    text = (tmp_path / "output.s").read_text()
    assert '\t.file 1 "example.py"\n' in text
    found = list(lines_of_instructions(text))
    # the division's reciprocal, and the constants of the sine's polynomial
    assert {line for line, code in found if code.startswith("MUFU.RCP")} == {6}
    assert {line for line, _ in found} == {0, 5, 6}


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("x = (\n", (), "example.py:1: "),
        ("x = 1\n", (), "no function or class"),
        (SOURCE, ("--function", "scales"), "scales"),
        (SOURCE, ("--target", "h2000"), "h2000"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, source: str, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "example.py").write_text(source)
    ended = run_wrapper(tmp_path, *options)
    assert ended.returncode != 0 and said in ended.stderr and "Traceback" not in ended.stderr
    assert not (tmp_path / "output.s").exists()
