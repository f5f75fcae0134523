"""Each step of the Dockerfile in a bare Debian root, for machines without Docker. Needs root's rights:

    unshare --mount --pid --fork --kill-child python -m benchmarks.image FOLDER [--build-arg NAME=VALUE]

debootstrap stands for the base image: the same release of Debian with its own Python, whose first
two numbers must be those of the image. `MIRROR` names another mirror of Debian; pip's variables and
those of a proxy reach each step, and what they name of this machine's files can be read there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the base image has beside a minimal Debian: Python with venv and headers, certificates.
_PACKAGES = "python3,python3-venv,libpython{python}-dev,ca-certificates"
_BASE = re.compile(r"python:(?P<python>\d+\.\d+)[\d.]*-slim-(?P<release>\w+)")
_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
_FROM_HERE = re.compile(r"PIP_\w+|\w+_proxy", re.IGNORECASE)


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """The name and the text of each, comments left out and lines joined."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    split = (line.split(maxsplit=1) for line in lines if line.strip())
    return [(name.upper(), rest) for name, rest in split]


def context(folder: Path) -> Iterator[str]:
    """The folders and files that .dockerignore lets into an image, below `folder`."""
    patterns = (folder / ".dockerignore").read_text(encoding="utf-8").split("\n")
    rules = [_rule(line) for line in patterns if line.strip() and not line.startswith("#")]

    def below(parent: Path) -> Iterator[str]:
        for path in sorted(parent.iterdir()):
            name = path.relative_to(folder).as_posix()
            fitting = [leaves_out for leaves_out, rule in rules if rule.fullmatch(name)]
            if not fitting or not fitting[-1]:  # the last rule decides
                yield name
                if path.is_dir() and not path.is_symlink():
                    yield from below(path)

    return below(folder)


def _rule(line: str) -> tuple[bool, re.Pattern[str]]:
    """It leaves out what it fits, and all below that; with a `!` it lets it in."""
    pattern = line.strip().removeprefix("!").strip("/")
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    regex = "".join(parts.get(piece, re.escape(piece)) for piece in pieces)
    return not line.startswith("!"), re.compile(f"{regex}(?:/.*)?")


@dataclass
class Image:
    """A root as the steps so far have left it."""

    root: Path
    arguments: dict[str, str]  # given with --build-arg
    variables: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})  # ENV
    folder: str = "/"
    user: str = "root"

    def step(self, name: str, text: str) -> None:
        """Do one instruction. AttributeError where none is known under its name."""
        getattr(self, f"_{name.lower()}")(text if name == "RUN" else self._expanded(text))

    def _expanded(self, text: str) -> str:
        known = {**self.arguments, **self.variables}
        return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: known.get(m[1] or m[2], ""), text)

    def _arg(self, text: str) -> None:
        name, _, default = text.partition("=")
        self.arguments.setdefault(name, default)

    def _env(self, text: str) -> None:
        self.variables.update(word.split("=", 1) for word in shlex.split(text))

    def _workdir(self, text: str) -> None:
        self.folder = os.path.join(self.folder, text)
        (self.root / self.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _user(self, text: str) -> None:
        self.user = text

    def _from(self, text: str) -> None:
        base = _BASE.match(text)
        assert base, f"{text}: no image of Python on a release of Debian"
        packages = _PACKAGES.format(**base.groupdict())
        mirror = [os.environ["MIRROR"]] if "MIRROR" in os.environ else []
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={packages}", base["release"],
             self.root, *mirror], check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        mount("-t", "proc", "proc", self.root / "proc")
        mount("-t", "tmpfs", "-o", "size=1g", "shm", self.root / "dev" / "shm")
        for path in paths_of(from_here()):
            self._readable(path)
        self.chroot("ln", "-s", f"/usr/bin/python{base['python']}", "/usr/local/bin/python")

    def _readable(self, path: Path) -> None:
        there = self.root / path.relative_to("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.mkdir(exist_ok=True) if path.is_dir() else there.touch()
        mount("--bind", path.resolve(), there)
        mount("-o", "remount,bind,ro", there)

    def _copy(self, text: str) -> None:
        words = shlex.split(text)
        owner = next((w.partition("=")[2] for w in words if w.startswith("--chown=")), "root:root")
        *sources, to = (word for word in words if not word.startswith("--"))
        places = dict(copied(list(context(ROOT)), sources, os.path.join(self.folder, to)))
        for name, place in places.items():
            _copy(ROOT / name, self.root / place.lstrip("/"))
        owned = self._command("xargs", "--null", "chown", "--no-dereference", owner, user="root")
        subprocess.run(owned, input="\0".join(places.values()).encode(), check=True)

    def _run(self, text: str) -> None:
        self.chroot("sh", "-c", text)

    def _cmd(self, text: str) -> None:
        self.chroot(*json.loads(text))

    def chroot(self, *words: str) -> None:
        """Run a command in the root. CalledProcessError where it fails."""
        subprocess.run(self._command(*words, user=self.user), check=True)

    def _command(self, *words: str, user: str) -> list[str]:
        home = next(
            line.split(":")[5]
            for line in (self.root / "etc" / "passwd").read_text(encoding="utf-8").splitlines()
            if user in (line.split(":")[0], line.split(":")[2])
        )
        variables = {"HOME": home, **from_here(), **self.arguments, **self.variables}
        named = [f"{name}={value}" for name, value in variables.items()]
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', self.folder]
        return [
            "chroot",
            f"--userspec={user}",
            str(self.root),
            "env",
            "-i",
            *named,
            *inside,
            *words,
        ]


def copied(names: Sequence[str], sources: Sequence[str], to: str) -> Iterator[tuple[str, str]]:
    """What COPY takes of the context's names, each with its place: of a folder what is in it."""
    for source in map(os.path.normpath, sources):
        below = "" if source == "." else f"{source}/"
        folder = {name: os.path.join(to, name.removeprefix(below)) for name in names
                  if name.startswith(below)}  # fmt: skip
        if not folder and source not in names:
            raise FileNotFoundError(
                f"COPY {source}: it is not there, or .dockerignore leaves it out"
            )
        name = os.path.basename(source)
        yield from folder.items() or [(source, os.path.join(to, name) if to.endswith("/") else to)]


def _copy(file: Path, place: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, place, follow_symlinks=False)


def mount(*words: str | Path) -> None:
    """Mount in this process's own view of the machine. CalledProcessError where it cannot."""
    subprocess.run(["mount", *words], check=True)


def from_here() -> dict[str, str]:
    """The variables of this machine that each step gets."""
    return {name: value for name, value in os.environ.items() if _FROM_HERE.fullmatch(name)}


def paths_of(variables: Mapping[str, str]) -> set[Path]:
    """The files and folders of this machine that variables name."""
    words = " ".join(variables.values()).replace("file://", "").split()
    return {Path(word) for word in words if word.startswith("/") and Path(word).exists()}


def main() -> None:
    """Run every step, and say how long each took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.image")
    parser.add_argument("folder", type=Path, help="where the root is made; it is left there")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    image = Image(options.folder.resolve(), dict(arg.split("=", 1) for arg in options.build_arg))
    begin = time.monotonic()
    for name, text in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {text}", flush=True)
        since = time.monotonic()
        image.step(name, text)
        print(f"  {(time.monotonic() - since) / 60:.1f} min", flush=True)
    print(f"Every step of the Dockerfile: {(time.monotonic() - begin) / 60:.1f} min")


if __name__ == "__main__":
    main()
