"""Installed packages as files: their modules, their versions, their public repositories."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class NotFound(LookupError):
    """No such name. `known` are the names there are where the search ended."""

    def __init__(self, name: str, where: str, known: tuple[str, ...]) -> None:
        super().__init__(f"{where} defines no {name!r}")
        self.name, self.where, self.known = name, where, known


@dataclass(frozen=True)
class Module:
    """A module's file, its dotted name, and the first line of each name it binds."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def child(self, name: str) -> Module | None:
        """The submodule `name`, if this is a package that has it."""
        if not self.is_package:
            return None
        for path in (self.path.parent / name / "__init__.py", self.path.parent / f"{name}.py"):
            if path.is_file():
                return Module(f"{self.name}.{name}", path)
        return None


@cache
def top_level(name: str) -> Module:
    """The installed top-level package `name`; NotFound if there is none."""
    spec = importlib.util.find_spec(name)  # a top-level name: nothing is imported
    if spec is None or spec.origin is None:
        raise NotFound(name, "this environment", ())
    return Module(name, Path(spec.origin))


def module(dotted: str) -> Module | None:
    """The module with a dotted name, None where its package has no such file."""
    package, *rest = dotted.split(".")
    found: Module | None = top_level(package)
    for part in rest:
        found = found.child(part) if found else None
    return found


# --------------------------------------------------------------------------- repositories


def versions() -> dict[str, str]:
    """The repository's URL at the installed version, for each known package that is there."""
    found = {}
    for package in ("torch", "triton"):
        try:
            found[package] = repository(package)
        except NotFound:
            continue
    return found


@cache
def repository(package: str) -> str:
    """URL of the repository's files at the installed version."""
    if package == "torch":
        return f"https://github.com/pytorch/pytorch/blob/{_constant('torch', 'git_version')}"
    if package == "triton":
        return f"https://github.com/triton-lang/triton/blob/v{_triton_version()}"
    raise NotFound(package, "the list of known repositories", ("torch", "triton"))


def in_repository(file: str) -> str:
    """A file of the installed package as the repository names it."""
    return f"python/{file}" if file.startswith("triton/") else file


def _constant(package: str, name: str) -> str:
    """A string assigned in ``<package>/version.py``."""
    text = (top_level(package).path.parent / "version.py").read_text(encoding="utf-8")
    match = re.search(rf"^{name}\b[^=]*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
    if match is None:
        raise NotFound(name, f"{package}/version.py", ())
    return match[1]


def _triton_version() -> str:
    text = top_level("triton").path.read_text(encoding="utf-8")
    match = re.search(r"^__version__\s*=\s*['\"]([\d.]+)", text, re.MULTILINE)
    if match is None:
        raise NotFound("__version__", "triton", ())
    return match[1]
