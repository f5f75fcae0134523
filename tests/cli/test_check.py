"""``tclab check``, with compiles that are handed out, and once with a real one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.cli import check
from tclab.cli.command import main
from tclab.errors import ExplainError
from tclab.model import Break, BreakIdentity, Breaks, Problem, Report, Snapshot, SourceLine
from tclab.system import machine
from tclab.upgrade.captures import ExplainResult
from tests.compare.test_causes import bodies, kernel

TORCH = machine.torch_facts()["__version__"]
WAS = Snapshot("model.py:f", torch=TORCH, guards=5, kernels=(kernel(bodies("index")[0]),))
BREAK = BreakIdentity("GB0059", "model.py", "f", "print(x)")
LISTED = '[[function]]\nname = "model.py:f"\nlevel = "kernels"\n'
MODEL = """\
import torch

def f(x):
    return x.relu()

def example_inputs():
    return torch.ones(8),
"""
Check = Callable[..., int]


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Check a file of functions, whose compiles are these."""
    monkeypatch.chdir(tmp_path)

    def run(made: Snapshot | ExplainResult | ExplainError, *words: str, text: str = LISTED) -> int:
        Path("compiled.toml").write_text(text, encoding="utf-8")

        def capture(*_: object) -> ExplainResult:
            if isinstance(made, ExplainError):
                raise made
            return (
                made
                if isinstance(made, ExplainResult)
                else ExplainResult(Report("f", snapshot=made))
            )

        monkeypatch.setattr(check, "explain_in_environment", capture)
        return main(["check", *words])

    return run


def test_without_a_file_nothing_can_be_compared(checked, capsys) -> None:
    assert checked(WAS) == 3
    assert "next: say --update to write" in capsys.readouterr().out
    assert not Path("compiled").exists()


def test_the_same_better_and_worse(checked, capsys) -> None:
    assert checked(WAS, "--update") == 0 == checked(WAS)
    (path,) = Path("compiled").iterdir()
    before = path.read_text()
    capsys.readouterr()
    assert checked(replace(WAS, breaks=(BREAK,)), "--report", "out") == 4
    said = capsys.readouterr().out
    assert "model.py:f: worse" in said
    assert "graph break, new: GB0059 at print(x) in model.py" in said
    (page,) = Path("out").iterdir()
    assert "GB0059" in page.read_text()
    assert checked(replace(WAS, guards=4)) == 0
    assert "better: guards, guards: 5 to 4" in capsys.readouterr().out
    assert checked(replace(WAS, guards=4), "--strict") == 4
    assert path.read_text() == before


def test_another_folder_is_compared_with(checked) -> None:
    assert checked(WAS, "--update", "--against", "there") == 0
    assert [*Path("there").iterdir()] and not Path("compiled").exists()
    assert checked(WAS, "--against", "there") == 0
    assert checked(replace(WAS, breaks=(BREAK,)), "--against", "there") == 4


def test_a_break_has_its_line_and_reason(checked, capsys) -> None:
    checked(WAS, "--update")
    capsys.readouterr()
    place = SourceLine("model.py", 4, code="print(x)")
    item = Break("Failed to trace", location=place)
    worse = replace(WAS, breaks=(BREAK,))
    assert checked(ExplainResult(Report("f", snapshot=worse, breaks=Breaks(breaks=(item,))))) == 4
    said = capsys.readouterr().out
    assert "model.py:4: print(x)" in said and "reason: Failed to trace" in said


def test_an_older_pytorchs_file_is_compared_and_not_counted(checked, capsys) -> None:
    checked(WAS, "--update")
    (path,) = Path("compiled").iterdir()
    path.rename(path.with_name(f"{path.name.partition('.torch')[0]}.torch2.9.json"))
    assert checked(replace(WAS, kernels=(kernel(bodies("index")[1]),))) == 0
    said = capsys.readouterr().out
    assert "changed by PyTorch" in said and "an index, and the same index simplified" in said
    assert "other code" not in said  # the cause has it


def test_what_does_not_compile_is_incomplete(checked, capsys) -> None:
    assert (
        checked(ExplainResult(failure=Problem("model.py:3", "it cannot be compiled", "wait"))) == 3
    )
    assert "model.py:3: it cannot be compiled" in capsys.readouterr().out
    assert checked(ExplainError("model.py", "no module named einops", "install it")) == 3
    refused = Report("f", refusal=Problem("h200", "refused", "wait"), snapshot=WAS)
    assert checked(ExplainResult(refused), "--update") == 3
    assert not Path("compiled").exists()


TWO = LISTED + '[[function]]\nname = "model.py:g"\nlevel = "kernels"\n'


@pytest.mark.parametrize("text", ["", "{", '{"format": "tclab snapshot 99"}', "[" * 100_000])
def test_a_damaged_file_is_written_anew_and_ends_no_other_check(checked, capsys, text) -> None:
    assert checked(WAS, "--update", text=TWO) == 0
    path, other = sorted(Path("compiled").iterdir())
    kept = path.read_text()
    path.write_text(text)
    assert checked(WAS, text=TWO) == 3
    said = capsys.readouterr().out
    assert "model.py:f: not compared" in said and "is no file of a compile" in said
    assert "model.py:g: the same" in said
    assert checked(replace(WAS, breaks=(BREAK,)), text=TWO) == 4  # the other one is worse
    assert checked(WAS, "--update", text=TWO) == 0
    assert path.read_text() == kept == other.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "it lists no function"),
        ("[[function]]\ntarget = 'h200'", "a function without a name"),
        (LISTED + "colour = 1", "unknown: colour"),
        (LISTED + "backward = 'yes'", "backward = 'yes'"),
        (LISTED.replace("kernels", "all"), "level = 'all'"),
        (LISTED * 2, "model.py:f is there twice"),
        (LISTED + LISTED.replace("model.py", "./model.py"), "model.py:f is there twice"),
        (LISTED + "target = 'h2oo'", "h2oo"),
        ("[[function", "cannot be read"),
        ("x = " + "[" * 5_000, "cannot be read"),
        (LISTED + "inputs = [1, 2]", "inputs = [1, 2]"),
    ],
)
def test_wrong_use(checked, capsys, text: str, said: str) -> None:
    assert checked(WAS, text=text) == 2
    assert said in capsys.readouterr().err
    assert main(["check", "no_such.toml"]) == 2


def test_a_file_of_another_target_is_not_compared(checked, capsys) -> None:
    checked(replace(WAS, target="NVIDIA H200"), "--update")
    other = replace(WAS, target="NVIDIA A100")
    assert checked(other) == 3
    assert "is of NVIDIA H200, and this compile is for NVIDIA A100" in capsys.readouterr().out
    assert checked(other, "--update") == 0 == checked(other)


def test_a_list_may_begin_with_a_byte_order_mark(checked) -> None:
    assert checked(WAS, "--update", text="\ufeff" + LISTED) == 0


def test_a_compile_of_nothing_is_not_compared_and_not_written(checked, capsys) -> None:
    nothing = Snapshot("model.py:f", torch=TORCH)
    assert checked(nothing, "--update") == 3 == checked(nothing)
    assert "nothing was compiled" in capsys.readouterr().out
    assert not Path("compiled").exists()


@pytest.mark.parametrize("variable", ["TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"])
def test_what_a_variable_switches_off_is_not_compared_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, variable: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "1")
    Path("model.py").write_text(MODEL)
    Path("compiled.toml").write_text('[[function]]\nname = "model.py:f"\n')
    assert main(["check", "--update"]) == 3
    said = capsys.readouterr().out
    assert f"{variable}=1 switches compiling off" in said and f"next: unset {variable}" in said
    assert not Path("compiled").exists()


def test_a_real_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("compiled.toml").write_text('[[function]]\nname = "model.py:f"\n')
    assert main(["check", "--update"]) == 0 == main(["check"])
    Path("model.py").write_text(MODEL.replace("    return x", "    print('now')\n    return x"))
    capsys.readouterr()
    assert main(["check"]) == 4
    assert "graph break, new: GB0059 at print('now')" in capsys.readouterr().out


@pytest.mark.skipif(not machine.has_cxx(), reason="no C++ compiler")
@pytest.mark.skipif(machine.count_cores() < 2, reason="PyTorch has no more threads than cores")
def test_the_number_of_threads_is_told_as_a_possible_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL.replace("ones(8)", "ones(2**17)").replace("relu", "sum"))
    Path("compiled.toml").write_text(LISTED)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert main(["check", "--update"]) == 0
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert main(["check"]) == 4
    said = capsys.readouterr().out
    assert "2 threads before, 1 now: the number of cores, or OMP_NUM_THREADS, can be" in said
    assert "elements in a vector" not in said


def test_functions_and_files_are_looked_for_beside_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("a/model.py").write_text("import helper\n" + MODEL)
    Path("a/helper.py").touch()
    Path("a/compiled.toml").write_text('[[function]]\nname = "model.py:f"\n')
    assert main(["check", "a/compiled.toml", "--update"]) == 0
    assert main(["check", "a/compiled.toml"]) == 0
    assert [*Path("a/compiled").iterdir()]
