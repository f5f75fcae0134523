"""Load the functions of the gallery of graph breaks, with and without the fix."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import tclab

SNIPPETS = Path(__file__).resolve().parents[1] / "snippets" / "graph_breaks"
#: All but the breaks that came and went, of which each version has a list of its own.
TOPICS = sorted(
    {path.stem.removeprefix("causes_") for path in SNIPPETS.glob("causes_*.py")}
    - {"that_came_and_went"}
)
Causes = list[tuple[Callable[..., Any], Callable[..., Any]]]


def causes_of(topic: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Causes, torch.Tensor]:
    """Return the functions that a snippet passes to the gallery, without compiling them, and the
    tensor for their calls.
    """
    given: list[tuple[Causes, torch.Tensor]] = []
    stand_in: Any = ModuleType("_gallery")
    stand_in.COLUMNS = ()
    stand_in.gallery = lambda *of: given.append(of) or []
    stand_in.unbroken = stand_in.unmended = lambda rows: []
    monkeypatch.setitem(sys.modules, "_gallery", stand_in)
    monkeypatch.setattr(tclab, "show", lambda *_, **__: None)
    runpy.run_path(str(SNIPPETS / f"causes_{topic}.py"))
    return given[0]
