"""The workflows: each step is a command of this project, and who may do what."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tclab import __version__

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, workflow in WORKFLOWS.items():
        for job, what in workflow["jobs"].items():
            yield f"{name}/{job}", what


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for job, what in jobs():
        for step in what["steps"]:
            yield job, step


def runs() -> list[tuple[str, str]]:
    return [(job, step["run"]) for job, step in steps() if "run" in step]


def test_what_there_is() -> None:
    assert set(WORKFLOWS) == {"check", "gpu", "new-pytorch", "release", "shadow", "site"}
    assert len(runs()) >= 8


@pytest.mark.parametrize(("job", "command"), runs())
def test_a_step_is_one_command_of_this_project(job: str, command: str) -> None:
    assert "${{" not in command, "what others wrote must not reach a shell"
    program, *words = command.split()
    if program == "make":
        (target,) = (word for word in words[:2] if not word.startswith("-"))
        assert re.search(rf"^{target}:.*##", MAKEFILE, re.MULTILINE), target
    else:
        assert os.access(ROOT / program, os.X_OK), program


def test_what_a_target_names_is_there() -> None:
    named = re.findall(r"-m (tclab[\w.]+)", MAKEFILE)
    assert len(named) >= 5
    for module in named:
        path = ROOT / "src" / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


@pytest.mark.parametrize("path", [*FILES, ROOT / "README.md", ROOT / "Makefile"])
def test_what_torch_needs_is_looked_for_on_pypi_too(path: Path) -> None:
    """PyTorch's index has few versions of it; .ci/constraints.txt names one of each."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if "PIP_TORCH_ARGS" in line and "index-url" in line:
            assert "--extra-index-url " in line, line


@pytest.mark.parametrize(("job", "step"), [(j, s) for j, s in steps() if "uses" in s])
def test_an_action_is_named_by_its_commit(job: str, step: dict[str, Any]) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])
    if "checkout" in step["uses"]:
        assert step["with"]["persist-credentials"] is False


def test_each_action_has_one_commit() -> None:
    used = {step["uses"] for _, step in steps() if "uses" in step}
    assert len(used) == len({one.partition("@")[0] for one in used})


def test_rights_are_given_to_jobs_alone_and_none_to_a_pull_request() -> None:
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {}
        triggers = workflow[True]  # YAML reads `on` as true
        assert "pull_request_target" not in triggers and "workflow_run" not in triggers
        if "pull_request" in triggers:
            text = str(workflow)
            assert "secrets." not in text and "github.token" not in text
            assert all(
                job["permissions"] == {"contents": "read"} for job in workflow["jobs"].values()
            )
            assert all("self-hosted" not in job["runs-on"] for job in workflow["jobs"].values())
    assert not [path for path in FILES if "secrets." in path.read_text(encoding="utf-8")]
    assert all(what["timeout-minutes"] <= 180 for _, what in jobs())


def test_an_action_runs_its_own_command_and_hands_values_by_variables() -> None:
    for path in (ROOT / ".github" / "actions").glob("*/action.yml"):
        for step in yaml.safe_load(path.read_text(encoding="utf-8"))["runs"]["steps"]:
            folder, program = step["run"].split("/")
            assert folder == '"$GITHUB_ACTION_PATH"' and os.access(path.parent / program, os.X_OK)


# -------------------------------------------------------------- the commands, with a gh of ours

GH = """#!/bin/sh
echo "$@" >> "$SAID"
case "$1 $2" in "issue list") printf %s "$OPEN" ;; esac
"""


@pytest.fixture
def gh(tmp_path: Path) -> Path:
    """A gh that writes down what it was asked."""
    tool = tmp_path / "bin" / "gh"
    tool.parent.mkdir()
    tool.write_text(GH)
    tool.chmod(0o755)
    return tmp_path / "said"


def call(gh: Path, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{gh.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "SAID": str(gh), **env}
    return subprocess.run(words, cwd=folder, text=True, capture_output=True, env=env, timeout=60,
                          check=False)  # fmt: skip


@pytest.mark.parametrize(("open_", "asked"), [("", "issue create"), ("7", "issue edit 7")])
def test_one_issue_tells_the_news(gh: Path, tmp_path: Path, open_: str, asked: str) -> None:
    (tmp_path / "news.md").write_text("# PyTorch 2.16.0\n\n- a sentence\n" + "x" * 70_000)
    done = call(gh, tmp_path, str(ROOT / ".ci/tell-news"), OPEN=open_)
    assert done.returncode == 0, done.stderr
    assert asked in gh.read_text() and "--title PyTorch 2.16.0 against this site" in gh.read_text()
    assert (tmp_path / "news-issue.md").stat().st_size == 60_000


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_recordings_become_one_pull_request(gh: Path, tmp_path: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=b")
    call(gh, tmp_path, "git", "init", "-q", "--bare", "there")
    call(gh, tmp_path, "git", "clone", "-q", "there", "here")
    here = tmp_path / "here"
    (here / "records").mkdir()
    (here / "records" / "one").write_text("1")
    call(gh, here, *git, "add", ".")
    call(gh, here, *git, "commit", "-qm", "one")
    propose = str(ROOT / ".ci/propose-recordings")
    assert "Nothing new" in call(gh, here, propose, ENV="h200").stdout
    assert call(gh, here, propose, ENV="h200 --x").returncode == 2
    (here / "records" / "one").write_text("2")
    done = call(gh, here, propose, ENV="h200")
    assert done.returncode == 0, done.stderr
    assert "pr create --head recordings-h200-" in gh.read_text()
    branches = call(gh, tmp_path, "git", "-C", "there", "branch").stdout
    assert "recordings-h200-" in branches


def test_a_tag_of_another_version_ends_a_release(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"torch_compile_lab-{__version__}.tar.gz").touch()
    for tag, status in ((f"v{__version__}", 0), ("v9.9", 1)):
        done = call(tmp_path / "said", tmp_path, str(ROOT / ".ci/same-version"), tag)
        assert done.returncode == status, done.stderr


TCLAB = """#!/bin/sh
echo "$PWD $@" >> "$SAID"
case "$*" in *--update*) echo "m.py:f: written"; exit "${BEFORE:-0}" ;; esac
echo "m.py:f: $ENDS"; echo '```'; exit "$ENDS"
"""


@pytest.fixture
def compare(gh: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The action's command in a clone at the head of a pull request, with a tclab of ours."""
    tool = tmp_path / "bin" / "tclab"
    tool.write_text(TCLAB)
    tool.chmod(0o755)
    git = ("git", "-c", "user.name=a", "-c", "user.email=b")
    call(gh, tmp_path, "git", "init", "-q", "there")
    for content in "12":
        (tmp_path / "there" / "compiled.toml").write_text(content)
        call(gh, tmp_path / "there", "git", "add", ".")
        call(gh, tmp_path / "there", *git, "commit", "-qm", content)
    base = call(gh, tmp_path / "there", "git", "rev-parse", "HEAD~").stdout.strip()
    call(gh, tmp_path, "git", "clone", "-q", "there", "here")

    def run(**env: str) -> subprocess.CompletedProcess[str]:
        given = {"BASE": base, "COMMENT": "true", "FILE": "compiled.toml", "NUMBER": "7",
                 "GITHUB_REPOSITORY": "a/b", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
                 "GITHUB_OUTPUT": str(tmp_path / "output"), **env}  # fmt: skip
        return call(gh, tmp_path / "here", str(ROOT / ".github/actions/compiled/compare"), **given)

    return run


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    ("before", "head", "ends"), [("0", "0", 0), ("0", "4", 4), ("0", "3", 3), ("3", "3", 0)]
)
def test_a_pull_request_is_compared_with_its_base(
    compare, gh, tmp_path, before: str, head: str, ends: int
) -> None:
    done = compare(BEFORE=before, ENDS=head)
    assert done.returncode == ends, done.stderr
    base, there, comments, posted = gh.read_text().splitlines()
    assert base.split()[0].endswith("/base") and " --update --against " in base
    assert there.startswith(f"{tmp_path / 'here'} check compiled.toml --against ")
    assert "--method POST repos/a/b/issues/7/comments" in posted and "--paginate" in comments
    summary = (tmp_path / "summary.md").read_text()
    assert f"    m.py:f: {head}\n    ```\n" in summary  # what is printed ends no block
    assert ("At the base:" in summary) == (before == "3")
    assert (tmp_path / "output").read_text() == f"status={head}\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_second_run_mends_its_comment_and_none_is_made_where_none_is_wanted(compare, gh) -> None:
    text = GH.replace("esac", '"api --paginate") echo 12 ;; esac')
    (gh.parent / "bin" / "gh").write_text(text)
    compare(ENDS="0")
    assert "--method PATCH repos/a/b/issues/comments/12" in gh.read_text()
    gh.unlink()
    compare(ENDS="0", COMMENT="false")
    assert len(gh.read_text().splitlines()) == 2
    assert compare(ENDS="0", BASE="0" * 40).returncode == 2
