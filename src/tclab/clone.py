"""What a clone of the project has and an installed tclab lacks: the catalogue, recorded answers."""

from __future__ import annotations

from pathlib import Path

from tclab.errors import TclabError

_FOLDER = Path(__file__).resolve().parent


def need(part: str, user: str) -> Path:
    """A file or folder of tclab's, for a command that uses it. TclabError where it is not there."""
    path = _FOLDER / part
    if not path.exists():
        step = "clone the project; there, pip install -e '.[explain]', or set PYTHONPATH=src"
        raise TclabError(user, f"is not in the wheel: {part}", step)
    return path
