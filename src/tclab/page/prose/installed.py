"""Installed packages as files: their modules, their versions, their public repositories."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tclab import machine


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
        commit = _known(package, machine.torch_facts().get("git_version", ""))
        return f"https://github.com/pytorch/pytorch/blob/{commit}"
    if package == "triton":
        release = _known(package, machine.triton_version()).partition("+")[0]
        return f"https://github.com/triton-lang/triton/blob/v{release}"
    raise NotFound(package, "the list of known repositories", ("torch", "triton"))


def in_repository(file: str) -> str:
    """A file of the installed package as the repository names it."""
    return f"python/{file}" if file.startswith("triton/") else file


def _known(package: str, version: str) -> str:
    """The version, NotFound where the package does not say it."""
    if not version:
        raise NotFound("its version", package, ())
    return version
