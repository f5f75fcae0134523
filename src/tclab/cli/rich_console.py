"""Define the console of the commands. This module needs rich, and most of its time is rich's."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

from rich.console import Console
from rich.markup import escape

# <tmp>/work/model.py:12
_CLEANED_PATH = re.compile(r"<tmp>(/[^\s:<>\"',)]+)")


class FullPathConsole(Console):
    """A console that prints complete paths, so that an editor can open them."""

    def print(self, *objects: Any, **how: Any) -> None:
        """Print the objects. In texts, ``<tmp>`` in a path is replaced by the real folder."""
        super().print(*(_write_out_paths(o) if isinstance(o, str) else o for o in objects), **how)


def _write_out_paths(text: str) -> str:
    """Write out the paths of files that exist below the folder for temporary files, so that an
    editor opens them. Messages have ``<tmp>`` in place of the folder.
    """
    folder = tempfile.gettempdir()
    return _CLEANED_PATH.sub(
        lambda found: (
            f"{escape(folder)}{found[1]}" if os.path.exists(folder + found[1]) else found[0]
        ),
        text,
    )
