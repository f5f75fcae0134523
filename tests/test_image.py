"""How `benchmarks.image` reads the Dockerfile, whose steps it runs without Docker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import image
from benchmarks.image import ROOT, Image

DOCKERFILE = """# syntax
ARG BASE=python:3.11.1-slim-bookworm@sha256:ab
FROM ${BASE}
ARG WHO=1000
# a remark
RUN useradd \\
    # within
    --uid "${WHO}" lab \\
    && true
ENV PATH=/opt/bin:$PATH \\
    A="b c"
WORKDIR /lab
WORKDIR sub
COPY --chown=lab:lab a.txt src ./
USER ${WHO}
CMD ["make", "all"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to build from."""
    for name in ("a.txt", "src/m.py", "src/__pycache__/m.pyc", "src/.env", ".venv/x", "big/y"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "project" / ".dockerignore").write_text(
        "# all\n*\n!a.txt\n!src\n!big\n**/__pycache__\nbig/*\n**/.env*\n"
    )
    monkeypatch.setattr(image, "ROOT", tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would be run on this machine."""
    asked = list[list[str]]()
    monkeypatch.setattr("subprocess.run", lambda words, **options: asked.append([*map(str, words)]))
    return asked


def test_comments_are_left_out_and_lines_are_joined() -> None:
    read = image.instructions(DOCKERFILE)
    names = [name for name, _ in read]
    assert names == [
        "ARG",
        "FROM",
        "ARG",
        "RUN",
        "ENV",
        "WORKDIR",
        "WORKDIR",
        "COPY",
        "USER",
        "CMD",
    ]
    assert read[3] == ("RUN", 'useradd --uid "${WHO}" lab && true')


def test_the_context_is_what_dockerignore_lets_in(project: Path) -> None:
    assert image.context(project) == ["a.txt", "big", "src", "src/m.py"]


def test_the_steps_are_run_as_docker_would(project, commands, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PIP_CERT", str(project / "a.txt"))
    (tmp_path / "root").mkdir(mode=0o700)  # as that of mktemp
    made = Image(tmp_path / "root", {"WHO": "7"})
    for name, text in image.instructions(DOCKERFILE):
        made.step(name, text)
    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o755
    debootstrap, *_, useradd, chown, make = commands
    assert debootstrap[:2] == ["debootstrap", "--variant=minbase"] and "bookworm" in debootstrap
    assert "libpython3.11-dev" in debootstrap[2]
    readable = tmp_path / "root" / project.relative_to("/") / "a.txt"
    assert ["mount", "-o", "remount,bind,ro", str(readable)] in commands
    assert "WHO=7" in useradd and useradd[-1] == 'useradd --uid "${WHO}" lab && true'
    assert chown[1] == "--userspec=root" and chown[-2:] == ["--no-dereference", "lab:lab"]
    assert make[1] == "--userspec=7" and make[-3:] == ["/lab/sub", "make", "all"]
    assert f"PATH=/opt/bin:{image._PATH}" in make and "A=b c" in make
    assert f"PIP_CERT={project / 'a.txt'}" in make
    assert "WHO=7" not in make  # a variable of the build alone
    there = tmp_path / "root" / "lab" / "sub"
    assert sorted(path.name for path in there.rglob("*")) == ["a.txt", "m.py"]


def test_what_is_not_in_the_context_cannot_be_copied(project: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"COPY \.venv/x: not there, or left out"):
        list(image.copied(image.context(project), [".venv/x"], "/lab/"))
    assert list(image.copied(["a"], ["a"], "/b")) == [("a", "/b")]
    assert list(image.copied(["a"], ["./a"], "/b/")) == [("a", "/b/a")]


def test_each_step_of_the_dockerfile_is_known_and_finds_its_files() -> None:
    names = image.context(ROOT)
    read = image.instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert [name for name, _ in read][-1] == "CMD" and len(read) > 12
    for name, text in read:
        assert hasattr(Image, f"_{name.lower()}"), name
        if name == "COPY":
            *sources, to = (word for word in text.split() if not word.startswith("--"))
            assert list(image.copied(names, sources, to))


def test_the_image_has_the_extras_that_make_installs() -> None:
    files = ((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "Makefile"))
    image_s, make_s = (re.findall(r"--editable \S*(\[[\w,]+\])", text)[0] for text in files)
    assert image_s == make_s
