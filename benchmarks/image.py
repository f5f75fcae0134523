"""Execute each step of the Dockerfile in a bare Debian root, without Docker. As root:

    unshare --mount --pid --fork --kill-child python -m benchmarks.image FOLDER [NAME=VALUE…]

debootstrap stands for the base image: its release of Debian, with the Python of that release, of
which the first two numbers must be the image's. Build arguments follow the folder. `MIRROR` names
another mirror of Debian; pip's variables and those of a proxy reach each step, and files of this
machine that they name can be read there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BASE = re.compile(r"python:(?P<python>\d+\.\d+)[\d.]*-slim-(?P<release>\w+)")
#: Packages that the base image has in addition to a minimal Debian; the headers need those of the C
#: library.
_PACKAGES = "python3,python3-venv,libpython{python}-dev,ca-certificates"
_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
_FROM_HERE = re.compile(r"PIP_\w+|\w+_proxy", re.IGNORECASE)
_INSIDE = 'export HOME="$(getent passwd "$(id -u)" | cut -d: -f6)" && cd "$0" && exec "$@"'


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Yield the name and the text of each instruction, without comments and with lines joined."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    split = (line.split(maxsplit=1) for line in lines if line.strip())
    return [(name.upper(), rest) for name, rest in split]


def context(folder: Path) -> list[str]:
    """Return the folders and files below `folder` that its .dockerignore lets into an image, in
    order.
    """
    lines = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [_rule(line) for line in lines if line.strip() and not line.startswith("#")]

    def below(parent: Path) -> Iterator[str]:
        for path in sorted(parent.iterdir()):
            name = path.relative_to(folder).as_posix()
            verdicts = [lets_in for lets_in, rule in rules if rule.fullmatch(name)]
            if all(verdicts[-1:]):  # the last matching rule decides
                yield name
                yield from below(path) if path.is_dir() and not path.is_symlink() else ()

    return list(below(folder))


def _rule(line: str) -> tuple[bool, re.Pattern[str]]:
    """Return whether a rule includes (with a `!`) or excludes, and the pattern of its paths and all
    below them.
    """
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", line.strip().removeprefix("!").strip("/"))
    pattern = "".join(wild.get(piece, re.escape(piece)) for piece in pieces)
    return line.startswith("!"), re.compile(f"{pattern}(?:/.*)?")


def copied(names: Sequence[str], sources: Sequence[str], to: str) -> Iterator[tuple[str, str]]:
    """Yield what COPY takes of the context's `names`, each with its destination: from a folder, its
    content.
    """
    for source in map(os.path.normpath, sources):
        below = "" if source == "." else f"{source}/"
        inside = [name for name in names if name.startswith(below)]
        if inside:
            yield from ((name, os.path.join(to, name.removeprefix(below))) for name in inside)
        elif source in names:
            yield source, os.path.join(to, os.path.basename(source)) if to.endswith("/") else to
        else:
            raise FileNotFoundError(f"COPY {source}: not there, or left out by .dockerignore")


@dataclass
class Image:
    """A root folder after the steps so far."""

    root: Path
    arguments: dict[str, str]  # values of ARG, the given ones first
    variables: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})  # values of ENV
    folder: str = "/"
    user: str = "root"

    def step(self, name: str, text: str) -> None:
        """Execute one instruction. AttributeError for one that is not known here."""
        getattr(self, f"_{name.lower()}")(text if name in ("RUN", "CMD") else self._expanded(text))

    def _expanded(self, text: str) -> str:
        known = {**self.arguments, **self.variables}
        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: known.get(m[1] or m[2], ""), text)

    def _from(self, text: str) -> None:
        base = _BASE.match(text)
        assert base, f"{text}: no image of Python on a release of Debian"
        packages = f"--include={_PACKAGES.format(**base.groupdict())}"
        mirror = os.environ.get("MIRROR", "").split()
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)  # a temporary folder is private to its owner; steps run as a user
        words = ("--variant=minbase", packages, base["release"], self.root, *mirror)
        subprocess.run(["debootstrap", *words], check=True, stdout=subprocess.DEVNULL)
        _mount("-t", "proc", "proc", self.root / "proc")
        _mount("-t", "tmpfs", "-o", "size=1g", "shm", self.root / "dev" / "shm")
        named = " ".join(_from_here().values()).replace("file://", "").split()
        for path in {Path(one) for one in named if one.startswith("/") and Path(one).exists()}:
            self._make_readable(path)
        self.chroot("ln", "-s", f"/usr/bin/python{base['python']}", "/usr/local/bin/python")

    def _make_readable(self, path: Path) -> None:
        there = self._there(str(path))
        there.parent.mkdir(parents=True, exist_ok=True)
        there.mkdir(exist_ok=True) if path.is_dir() else there.touch()
        _mount("--bind", path.resolve(), there)
        _mount("-o", "remount,bind,ro", there)

    def _there(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _arg(self, text: str) -> None:
        name, _, default = text.partition("=")
        self.arguments.setdefault(name, default)

    def _env(self, text: str) -> None:
        self.variables.update(word.split("=", 1) for word in shlex.split(text))

    def _workdir(self, text: str) -> None:
        self.folder = os.path.join(self.folder, text)
        self._there(self.folder).mkdir(parents=True, exist_ok=True)

    def _user(self, text: str) -> None:
        self.user = text

    def _copy(self, text: str) -> None:
        words = shlex.split(text)
        owner = next((w.partition("=")[2] for w in words if w.startswith("--chown=")), "0:0")
        *sources, to = (word for word in words if not word.startswith("--"))
        places = dict(copied(context(ROOT), sources, os.path.join(self.folder, to)))
        for name, place in places.items():
            _copy(ROOT / name, self._there(place))
        owned = self._command("root", "xargs", "--null", "chown", "--no-dereference", owner)
        subprocess.run(owned, input="\0".join(places.values()).encode(), check=True)

    def _run(self, text: str) -> None:
        self.chroot("sh", "-c", text)

    def _cmd(self, text: str) -> None:
        self.arguments.clear()  # arguments of a build do not exist when its image runs
        self.chroot(*json.loads(text))

    def chroot(self, *words: str) -> None:
        """Run a command in the root, as its user. CalledProcessError where it fails."""
        subprocess.run(self._command(self.user, *words), check=True)

    def _command(self, user: str, *words: str) -> list[str]:
        variables = {**_from_here(), **self.arguments, **self.variables}
        inside = ("sh", "-c", _INSIDE, self.folder, *words)
        named = (f"{name}={value}" for name, value in variables.items())
        return ["chroot", f"--userspec={user}", str(self.root), "env", "-i", *named, *inside]


def _copy(file: Path, place: Path) -> None:
    (place if file.is_dir() else place.parent).mkdir(parents=True, exist_ok=True)
    if not file.is_dir():
        shutil.copy2(file, place, follow_symlinks=False)


def _mount(*words: str | Path) -> None:
    """Mount folders, visible only to this process."""
    subprocess.run(["mount", *words], check=True)


def _from_here() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _FROM_HERE.fullmatch(name)}


def main(folder: str, *arguments: str) -> None:
    """Run every step, and print the seconds of each."""
    image = Image(Path(folder).resolve(), dict(one.split("=", 1) for one in arguments))
    begin = time.monotonic()
    for name, text in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {text}", flush=True)
        since = time.monotonic()
        image.step(name, text)
        print(f"  {(time.monotonic() - since) / 60:.1f} min", flush=True)
    print(f"Every step of the Dockerfile: {(time.monotonic() - begin) / 60:.1f} min")


if __name__ == "__main__":
    main(*sys.argv[1:])
