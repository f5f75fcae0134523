"""Find installed packages and their versions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from tclab.system import imports

#: Packages that a run records elsewhere: torch and triton in its provenance, and each file of tclab
#: among its dependencies.
_LISTED_ELSEWHERE = {"torch", "triton", "torch-compile-lab"}


def package_versions(files: Iterable[Path]) -> dict[str, str]:
    """Return the distribution of each imported package, found by the file of its first module, with
    its version. A module without a distribution is left out.
    """
    modules = {_top_level(file) for file in files if imports.is_installed(str(file))}
    distributions = {name for module in modules for name in _map_distributions().get(module, ())}
    return {name: version(name) for name in sorted(distributions - _LISTED_ELSEWHERE)}


def _top_level(file: Path) -> str:
    return file.parent.name if file.stem == "__init__" else file.name.partition(".")[0]


@lru_cache(maxsize=1)
def _map_distributions() -> dict[str, list[str]]:
    """Return the distributions of each top-level module. The first call takes a second."""
    return dict(metadata.packages_distributions())


@lru_cache(maxsize=1024)
def version(distribution: str) -> str:
    """Return the installed version of a distribution; '' if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
