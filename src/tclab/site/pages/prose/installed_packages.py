"""Find the module files, versions and public repositories of installed packages."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tclab.system import machine


class NotFound(LookupError):
    """Raised if a name does not exist. `known` has the names that exist in the place where the
    search ended.
    """

    def __init__(self, name: str, where: str, known: tuple[str, ...]) -> None:
        super().__init__(f"{where} defines no {name!r}")
        self.name, self.where, self.known = name, where, known


@dataclass(frozen=True)
class Module:
    """A module's dotted name and its file."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def child(self, name: str) -> Module | None:
        """Return the submodule `name`, if this is a package that has it."""
        if not self.is_package:
            return None
        for path in (self.path.parent / name / "__init__.py", self.path.parent / f"{name}.py"):
            if path.is_file():
                return Module(f"{self.name}.{name}", path)
        return None


@cache
def top_level(name: str) -> Module:
    """Return the installed top-level package `name`. Raises NotFound if there is none."""
    spec = importlib.util.find_spec(name)  # find_spec imports nothing, because the name has no dot
    if spec is None or spec.origin is None:
        raise NotFound(name, "this environment", ())
    return Module(name, Path(spec.origin))


def find_module(dotted_name: str) -> Module | None:
    """Return the module with a dotted name; None if its package has no such file."""
    package, *rest = dotted_name.split(".")
    inner: Module | None = top_level(package)
    for part in rest:
        inner = inner.child(part) if inner else None
    return inner


# --------------------------------------------------------------------------- repositories


def repository_urls() -> dict[str, str]:
    """Map torch and triton to the URLs of their repositories at the installed versions."""
    urls = {}
    for package in ("torch", "triton"):
        try:
            urls[package] = repository_url(package)
        except NotFound:
            continue
    return urls


@cache
def repository_url(package: str) -> str:
    """Return the URL of the package's repository at the installed version."""
    if package == "torch":
        commit = _require_version(package, machine.torch_facts().get("git_version", ""))
        return f"https://github.com/pytorch/pytorch/blob/{commit}"
    if package == "triton":
        release = _require_version(package, machine.triton_version()).partition("+")[0]
        return f"https://github.com/triton-lang/triton/blob/v{release}"
    raise NotFound(package, "the list of known repositories", ("torch", "triton"))


def repository_path(file: str) -> str:
    """Return the path in the repository of a file of the installed package."""
    return f"python/{file}" if file.startswith("triton/") else file


def _require_version(package: str, version: str) -> str:
    """Return `version`. Raises NotFound if it is empty because the package does not state it."""
    if not version:
        raise NotFound("its version", package, ())
    return version
