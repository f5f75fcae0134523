"""The commands, on a small project whose snippets really run, once for this module."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tclab.cli import command
from tclab.system import machine
from tclab.workshop import cli as workshop

SRC = Path(command.__file__).resolve().parents[2]

HELLO = '''"""Say hello."""

import tclab

tclab.show("hello from a run", title="Greeting", name="greeting")
tclab.show("[bold]not markup[/bold]", title="Brackets", name="brackets")
print("printed by hello")
'''
WRONG = '"""An assert that does not hold."""\n\nassert 1 + 1 == 3, "one and one"\n'
MEND = "next: what it claims no longer holds: mend the claim or the code\n"
NEEDY = '"""Needs a GPU."""\n# tclab: needs=cuda\n\nimport torch\n\ntorch.empty(1, device="cuda")\n'


@dataclass
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str


@dataclass
class Project:
    """A folder with snippets; `tclab` runs the command on it in a process of its own."""

    root: Path

    def tclab(self, *words: str, **variables: str) -> Ran:
        env = {k: v for k, v in os.environ.items() if not k.startswith("TCLAB_")}
        env |= {"PYTHONPATH": str(SRC), "TCLAB_ROOT": str(self.root)} | variables
        command = [sys.executable, "-m", "tclab", *words]
        done = subprocess.run(
            command,
            env=env,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("project")
    (root / "mkdocs.yml").write_text("site_name: test\n")
    for name, source in (("hello", HELLO), ("wrong", WRONG), ("needy", NEEDY)):
        path = root / "snippets" / "start" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return Project(root)


@pytest.fixture(scope="module")
def first_run(project: Project) -> Ran:
    """`tclab run` of everything, once."""
    return project.tclab("run")


no_gpu = pytest.mark.skipif(machine.has_cuda(), reason="this machine has a GPU")


@pytest.mark.snippet
def test_a_failing_snippet_ends_run_with_1_and_names_place_cause_and_next_step(
    first_run: Ran,
) -> None:
    assert first_run.status == 1
    assert "snippets/start/wrong.py:3: assertion" in first_run.err
    assert "one and one" in first_run.err
    assert MEND in first_run.err
    assert "Traceback" not in first_run.err


@pytest.mark.snippet
def test_the_table_has_seconds_memory_and_result(first_run: Ran) -> None:
    rows = {line.split()[0]: line.split() for line in first_run.out.splitlines() if line.strip()}
    assert rows["snippet"][1:4] == ["seconds", "MiB", "result"]
    _, seconds, mib, result, *_ = rows["start/hello"]
    assert re.fullmatch(r"\d+\.\d\d", seconds)  # a quick machine needs less than 5 ms
    assert float(mib) > 10
    assert result == "ok"
    assert rows["start/wrong"][3:5] == ["failed", "assertion"]


def test_a_failure_leaves_the_others_fresh_and_is_run_again(
    project: Project, first_run: Ran
) -> None:
    states = {line.split()[0]: line.split() for line in project.tclab("list").out.splitlines()}
    assert states["start/hello"][2] == "fresh"
    assert states["start/wrong"][2] == "failed"


def test_what_is_fresh_is_not_run(project: Project, first_run: Ran) -> None:
    again = project.tclab("run", "hello")
    assert again.status == 0
    assert again.out == ""
    assert "Nothing is stale" in again.err


@no_gpu
def test_a_named_snippet_that_cannot_run_here_is_an_error(project: Project) -> None:
    ran = project.tclab("run", "needy")
    assert ran.status == 1
    assert "snippets/start/needy.py: needs cuda, which is not here" in ran.err


@no_gpu
def test_what_cannot_run_here_is_left_out_and_said(project: Project, first_run: Ran) -> None:
    assert "start/needy" not in first_run.out
    assert "1 needs what is not here" in first_run.err
    assert "needs cuda" in project.tclab("list").out


def test_show_prints_artifacts_output_and_stamp(project: Project, first_run: Ran) -> None:
    shown = project.tclab("show", "hello")
    assert shown.status == 0
    assert "hello from a run" in shown.out
    assert "[bold]not markup[/bold]" in shown.out
    assert "printed by hello" in shown.out
    assert f"PyTorch {machine.here().torch}" in shown.out


def test_show_one_artifact(project: Project, first_run: Ran) -> None:
    shown = project.tclab("show", "hello", "--artifact", "greeting")
    assert "hello from a run" in shown.out
    assert "printed by hello" not in shown.out


def test_show_an_artifact_that_is_not_there_names_those_that_are(
    project: Project, first_run: Ran
) -> None:
    shown = project.tclab("show", "hello", "--artifact", "kernel")
    assert shown.status == 1
    assert "greeting" in shown.err


def test_show_a_failed_run_says_how_it_failed_and_what_to_do(
    project: Project, first_run: Ran
) -> None:
    shown = project.tclab("show", "wrong")
    assert "one and one" in shown.out
    assert MEND in shown.err


def test_show_without_a_recording_says_how_to_make_one(project: Project, first_run: Ran) -> None:
    shown = project.tclab("show", "needy", "--env", "h200")
    assert shown.status == 1
    assert "tclab record h200 start/needy" in shown.err


def test_record_of_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").touch()
    (tmp_path / "snippets/start").mkdir(parents=True)
    (tmp_path / "snippets/start/hello.py").write_text(HELLO)
    recorded = Project(tmp_path).tclab("record", "test-machine")
    assert (recorded.status, recorded.out) == (0, "")
    assert "test-machine: no snippet needs a GPU, and nothing is recorded there" in recorded.err


@pytest.mark.snippet
def test_record_keeps_good_runs_only_and_list_shows_them(project: Project, first_run: Ran) -> None:
    recorded = project.tclab("record", "test-machine", "hello", "wrong")
    assert recorded.status == 1
    assert MEND in recorded.err
    assert (project.root / "records/test-machine/start/hello/run.json").is_file()
    assert not (project.root / "records/test-machine/start/wrong").exists()
    lines = project.tclab("list").out.splitlines()
    assert lines[0].split()[:4] == ["snippet", "needs", "here", "test-machine"]
    states = {line.split()[0]: line.split() for line in lines}
    assert states["start/hello"][3] == "fresh"
    assert states["start/wrong"][3] == "-"
    shown = project.tclab("show", "hello", "--env", "test-machine")
    assert "hello from a run" in shown.out


@pytest.mark.snippet
def test_record_on_a_cluster_wants_the_pytorch_of_the_recordings(project: Project) -> None:
    pytest.importorskip("distributed")
    record = partial(project.tclab, "record", "box", "hello", "--on", "local:1")
    refused = record()
    assert refused.status == 1
    assert "records/box: has no recording yet" in refused.err
    assert "say --torch X.Y" in refused.err
    made = record("--torch", machine.torch_facts()["__version__"])
    assert (made.status, "ok" in made.out) == (0, True), made.err
    fresh = record()
    assert "box: fresh" in fresh.out + fresh.err
    nobody = record("--torch", "2.10", "--force")
    assert nobody.status == 1
    assert "is not 2.10" in nobody.err
    assert record("--force").status == 0
    shutil.rmtree(project.root / "records/box")
    words = project.tclab("record", "box", "hello", "--bundle", "jobs.tar", "--gpu", "H200")
    assert (words.status, "--gpu needs --on" in words.err) == (2, True)


@pytest.mark.snippet
def test_what_a_machine_lacks_is_said_by_every_command(project: Project) -> None:
    """The step that the snippet's own process works out from its error reaches the reader."""
    lacking = project.root / "snippets" / "start" / "lacking.py"
    lacking.write_text('"""T."""\nraise RuntimeError("Found no NVIDIA driver on your system")\n')
    step = "next: add needs=cuda to its '# tclab:' line\n"
    try:
        for words in (("run", "lacking"), ("show", "lacking"), ("record", "m", "lacking")):
            ran = project.tclab(*words)
            assert step in ran.err, words
        blocked = without_click_and_rich(project)
        bare = project.tclab("record", "m", "start/lacking", PYTHONPATH=blocked)
        assert step in bare.err
    finally:
        lacking.unlink()


@pytest.mark.snippet
def test_list_and_show_say_why_a_run_is_stale(project: Project, first_run: Ran) -> None:
    assert "stale" not in project.tclab("list", "hello").out
    listed = project.tclab("list", "hello", TORCH_LOGS="graph", CUDA_VISIBLE_DEVICES="").out
    assert listed.splitlines()[1].split()[2] == "stale"
    assert "here, stale: variable TORCH_LOGS set to graph (start/hello)" in listed
    shown = project.tclab("show", "hello", TORCH_LOGS="graph")
    assert "start/hello is stale: variable TORCH_LOGS set to graph" in shown.err
    assert "hello from a run" in shown.out


def test_threads_of_who_starts_the_engine_make_nothing_stale(
    project: Project, first_run: Ran
) -> None:
    """``make test`` sets one for its workers; ``make site`` sets none."""
    for number in ("1", "3"):
        listed = project.tclab("list", "hello", OMP_NUM_THREADS=number, MKL_NUM_THREADS=number)
        assert listed.out.splitlines()[1].split()[2] == "fresh"


def test_an_unknown_name_is_a_usage_error_with_a_suggestion(project: Project) -> None:
    ran = project.tclab("run", "start/helo")
    assert ran.status == 2
    assert "did you mean start/hello" in ran.err


def test_an_unknown_option_is_a_usage_error(project: Project) -> None:
    ran = project.tclab("run", "--frobnicate")
    assert ran.status == 2
    assert "--frobnicate" in ran.err


@pytest.mark.snippet
def test_a_broken_snippet_is_named_with_its_line_and_stops_no_other(
    project: Project, first_run: Ran
) -> None:
    broken = project.root / "snippets" / "start" / "broken.py"
    broken.write_text('"""Title."""\n# tclab: colour=red\n')
    try:
        every = [project.tclab(*words) for words in (["list"], ["run"], ["list", "broken"])]
        other = project.tclab("show", "hello")
    finally:
        broken.unlink()
    for ran in every:
        assert ran.status == 1
        assert "snippets/start/broken.py:2: unknown setting 'colour=red'" in ran.err
        assert "next: the settings are" in ran.err
    assert "start/hello" in every[0].out
    assert "broken" not in other.err and "printed by hello" in other.out


def test_no_project_here(project: Project, tmp_path: Path) -> None:
    ran = project.tclab("--root", str(tmp_path), "list")
    assert ran.status == 2
    assert "mkdocs.yml" in ran.err


@pytest.mark.parametrize("word", ["list", "run", "record", "show"])
def test_every_command_has_examples_and_its_exit_status(project: Project, word: str) -> None:
    ran = project.tclab(word, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: tclab {word} ")
    assert f"\n    tclab {word} " in ran.out
    assert "Exit status:" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 92


def test_help_names_every_command(project: Project) -> None:
    ran = project.tclab("--help")
    assert ran.status == 0
    assert {f"  {word} " for word in ("list", "run", "record", "show")} <= {
        line[: line.index(" ", 2) + 1] for line in ran.out.splitlines() if line.startswith("  ")
        if " " in line[2:]
    }  # fmt: skip


LOADED = """
import sys
from tclab.cli import command
command.main(["--version"])
print(*(name for name in sys.modules if name.startswith("tclab.")))
"""


def test_a_command_imports_no_other_command() -> None:
    """Nor the nouns, nor rooms that `--version` needs nothing of."""
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = ran.stdout.splitlines()[1].split()
    assert len(loaded) <= 15, loaded
    assert not [name for name in loaded if name.startswith(("tclab.model", "tclab.explain"))]


def test_each_command_is_where_its_table_says() -> None:
    for name, place in command.table().items():
        group = command.tclab
        found = group.get_command(None, name)  # type: ignore[arg-type]
        assert found is not None and found.name == name, place
    assert set(workshop.COMMANDS) == command.WORKSHOP_COMMANDS


def test_a_command_of_the_workshop_says_that_it_needs_a_clone(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "tclab.workshop.cli", None)
    assert command.main(["verify-target"]) == 1
    assert "clone the project" in capsys.readouterr().err
    assert command.main(["verify"]) == 2  # which is none


def test_a_pipe_gets_no_colours_and_no_cut_lines(project: Project, first_run: Ran) -> None:
    for ran in (first_run, project.tclab("list", FORCE_COLOR="")):
        assert "\x1b" not in ran.out + ran.err
        assert "…" not in ran.out


def test_names_for_scripts(project: Project) -> None:
    assert project.tclab("list", "--names").out.split() == [
        "start/hello",
        "start/needy",
        "start/wrong",
    ]


def without_click_and_rich(project: Project) -> str:
    """Return a PYTHONPATH under which neither can be imported."""
    blocked = project.root / "blocked"
    for name in ("click", "rich"):
        (blocked / name).mkdir(parents=True, exist_ok=True)
        (blocked / name / "__init__.py").write_text("raise ImportError('not here')\n")
    return os.pathsep.join([str(blocked), str(SRC)])


def test_without_click_and_rich_record_is_still_there(project: Project) -> None:
    ran = project.tclab("record", "--help", PYTHONPATH=without_click_and_rich(project))
    assert ran.status == 0
    assert "environment" in ran.out


@pytest.mark.parametrize("words", ["run", "list", "record gpu-x", "show x", "claims"])
def test_a_project_that_is_not_there_is_an_error(tmp_path: Path, words: str) -> None:
    """A build of CI whose TCLAB_ROOT is wrong must not be green."""
    ran = Project(tmp_path).tclab(*words.split(), TCLAB_ROOT="/nonexistent")
    assert (ran.status, ran.out) == (2, "")
    assert "TCLAB_ROOT=/nonexistent: is no folder with mkdocs.yml and snippets/" in ran.err
    assert "next: name the project's folder in TCLAB_ROOT" in ran.err
