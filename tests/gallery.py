"""The functions of the gallery of graph breaks, as written and as mended."""

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
#: Of what came and went each version has its own list.
TOPICS = sorted(
    {path.stem.removeprefix("causes_") for path in SNIPPETS.glob("causes_*.py")}
    - {"that_came_and_went"}
)
Causes = list[tuple[Callable[..., Any], Callable[..., Any]]]


def causes_of(topic: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Causes, torch.Tensor]:
    """The functions that a snippet gives to the gallery, which compiles none of them here, and the
    tensor that it calls them with.
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
