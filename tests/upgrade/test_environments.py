"""Environments made by a planted uv or pip: nothing is fetched."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tclab.errors import BadRequest
from tclab.explain.steps import silent
from tclab.system import machine
from tclab.upgrade import environments
from tclab.upgrade.environments import TRITON_VERSIONS, EnvironmentMaker, NoEnvironment

RELEASE = environments.parse_build("--to", "2.15.0")
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A planted uv: it writes down what it is asked, and says and ends as it is told to."""
    calls = tmp_path / "calls.txt"

    def plant(said: str = "", status: int = 0) -> Path:
        tool = tmp_path / "bin" / "uv"
        tool.parent.mkdir(exist_ok=True)
        text = f'#!/bin/bash\necho "$@" >> {calls}\ncat <<"END"\n{said}\nEND\n'
        text += f'case "$1" in pip) exit {status};; esac\nmkdir -p "${{@: -1}}"\n'
        tool.write_text(text)
        tool.chmod(0o755)
        return calls

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return plant


def test_the_makefile_has_the_same_triton_for_each_pytorch() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    table = re.findall(r"^TRITON_(\d+)\.(\d+) := (\S+)$", text, re.MULTILINE)
    assert {(int(one), int(two)): triton for one, two, triton in table} == TRITON_VERSIONS
    newest = ".".join(map(str, machine.NEWEST))
    assert set(re.findall(r"\$\(TRITON_([\d.]+)\)", text)) == {newest}, "for a newer PyTorch"


def test_every_supported_pytorch_has_a_triton_and_no_other() -> None:
    (major, oldest), (_, newest) = machine.OLDEST, machine.NEWEST
    assert list(TRITON_VERSIONS) == [(major, minor) for minor in range(oldest, newest + 1)]


def test_readers_are_told_to_install_the_triton_of_that_pytorch() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *PAGES)]
    lines = [line for text in texts for line in text.splitlines() if "triton==" in line]
    assert len(lines) >= 3
    for line in lines:
        (torch,) = re.findall(r"PyTorch (\d+)\.(\d+)", line)
        (triton,) = re.findall(r"triton==([\d.]*\d)", line)
        assert triton == TRITON_VERSIONS[int(torch[0]), int(torch[1])], line


def test_it_is_made_once_in_the_cache_and_kept(uv, tmp_path) -> None:
    calls = uv()
    python = EnvironmentMaker().provide_python(RELEASE, silent)
    assert Path(python).is_relative_to(tmp_path / "cache" / "tclab" / "environments")
    venv, install = calls.read_text().splitlines()
    assert venv.startswith("venv ") and venv.endswith(str(Path(python).parent.parent))
    assert f"--python {python}" in install and "torch==2.15.0" in install
    assert ("triton==3.9.0" in install) == (sys.platform == "linux")
    assert EnvironmentMaker().provide_python(RELEASE, silent) == python
    assert len(calls.read_text().splitlines()) == 2


def test_a_package_more_is_added_to_what_is_there(uv) -> None:
    calls = uv()
    EnvironmentMaker().provide_python(RELEASE, silent)
    assert not EnvironmentMaker(("einops",)).is_complete(RELEASE)
    EnvironmentMaker(("einops",)).provide_python(RELEASE, silent)
    assert "torch==2.15.0" in calls.read_text().splitlines()[-1]
    assert calls.read_text().endswith(" einops\n")
    assert EnvironmentMaker(("einops",)).is_complete(RELEASE)
    assert EnvironmentMaker().is_complete(RELEASE)


def test_a_half_made_one_is_gone_on_with(uv) -> None:
    uv("the connection broke", 1)
    with pytest.raises(NoEnvironment):
        EnvironmentMaker().provide_python(RELEASE, silent)
    assert not EnvironmentMaker().is_complete(RELEASE)
    uv()
    EnvironmentMaker().provide_python(RELEASE, silent)
    assert EnvironmentMaker().is_complete(RELEASE)


def test_an_index_of_its_own_has_a_folder_of_its_own_and_is_not_told(uv) -> None:
    calls = uv()
    maker = EnvironmentMaker(index="https://me:secret@example.org/cpu")
    folder = maker.folder(RELEASE)
    maker.provide_python(RELEASE, silent)
    assert folder != EnvironmentMaker().folder(RELEASE) and "secret" not in str(folder)
    assert "--index-url https://me:secret@example.org/cpu torch==2.15.0" in calls.read_text()


REFUSALS = {
    "error: Failed to fetch: https://pypi.org/simple/six/\n"
    "  cause: tcp connect error": "no package index can be reached",
    "error: No solution found when resolving dependencies\n  cause: Because there is no version of "
    "torch==2.15.99 and you require torch==2.15.99, we can conclude": "has no torch==2.15.99",
    "ERROR: No matching distribution found for torch==2.15.99": "has no torch==2.15.99",
    "ERROR: torch-2.15.0-cp312-any.whl is not a supported wheel on this platform.": "torch-2.15.0-"
    "cp312-any.whl is for another Python or another system",
    "ERROR: HTTP error 404 while getting https://host/torch-2.15.0-any.whl": "no such wheel",
    "error: No space left on device (os error 28)": "the disk is full",
    "something else\nthe last word\n": "uv failed: the last word",
}


@pytest.mark.parametrize("said", REFUSALS)
def test_a_refusal_has_its_cause_and_the_next_step(uv, said: str) -> None:
    uv(said, 1)
    with pytest.raises(NoEnvironment) as caught:
        EnvironmentMaker().provide_python(RELEASE, silent)
    assert caught.value.place == "PyTorch 2.15.0"
    assert REFUSALS[said] in caught.value.cause
    assert caught.value.next_step


def test_without_uv_it_is_venv_and_pip(uv, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    folder = EnvironmentMaker().folder(RELEASE)
    venv, install = EnvironmentMaker().install_commands(RELEASE, folder, folder / "bin/python")
    assert venv == [sys.executable, "-m", "venv", str(folder)]
    assert install[:4] == [str(folder / "bin/python"), "-m", "pip", "install"]


@pytest.mark.parametrize(
    "text", ["2", "new", "2.15.0-rc1", "1.13.0", "2.10.0", "torch-2.15.0-cp311-cp311-any.whl",
             "https://host/torch-2.10.0-cp311-cp311-any.whl", "https://host/numpy-2.0-any.whl"]
)  # fmt: skip
def test_what_is_no_pytorch_that_is_known_is_refused(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        environments.parse_build("--to", text)
    assert caught.value.place == f"--to {text}" and caught.value.next_step


@pytest.mark.parametrize(
    ("text", "version", "requirement"),
    [
        ("2.15", "2.15.0", "torch==2.15.0"),
        ("2.16.0rc1", "2.16.0rc1", "torch==2.16.0rc1"),
        ("2.99.0.dev20261101", "2.99.0.dev20261101", "torch==2.99.0.dev20261101"),
        ("nightly", "nightly", "torch"),
        ("https://host/cpu/torch-2.16.0%2Bcpu-cp311-cp311-linux_x86_64.whl", "2.16.0",
         "https://host/cpu/torch-2.16.0%2Bcpu-cp311-cp311-linux_x86_64.whl"),
    ],
)  # fmt: skip
def test_a_pytorch_is_named_in_four_ways(text: str, version: str, requirement: str) -> None:
    assert environments.parse_build("--to", text) == environments.Build(version, requirement)


def test_a_wheel_has_an_environment_of_its_own_that_ends_with_the_file(uv, tmp_path) -> None:
    calls, wheel = uv(), tmp_path / "torch-2.15.0-cp311-cp311-linux_x86_64.whl"
    wheel.write_bytes(b"one")
    build = environments.parse_build("--to", str(wheel))
    assert build.version == "2.15.0" and not build.is_named_by_version
    EnvironmentMaker().provide_python(build, silent)
    assert f" {wheel} numpy" in calls.read_text() and "torch==" not in calls.read_text()
    assert EnvironmentMaker().is_complete(build) and not EnvironmentMaker().is_complete(RELEASE)
    os.utime(wheel, (1, 1))
    assert not EnvironmentMaker().is_complete(build)


def test_a_nightly_comes_from_its_own_index_unless_another_is_named(uv) -> None:
    calls = uv()
    build = environments.parse_build("--to", "nightly")
    EnvironmentMaker().provide_python(build, silent)
    EnvironmentMaker(index="https://mirror/whl").provide_python(build, silent)
    first, second = (line for line in calls.read_text().splitlines() if "--index-url" in line)
    assert f"--prerelease=allow --index-url {environments.NIGHTLY_INDEX} torch" in first
    assert "--index-url https://mirror/whl torch" in second


def test_a_python_says_which_pytorch_it_has(tmp_path) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", environments.find_torch_version(sys.executable))
    for python in (tmp_path / "none", Path("/bin/false")):
        with pytest.raises(BadRequest):
            environments.find_torch_version(str(python))
