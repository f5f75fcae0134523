"""The project's own use: each break of the gallery, as written and as mended, is held to a file."""

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

pytestmark = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
    reason="The project's own files begin with PyTorch 2.13",
)

SNIPPETS = Path(__file__).resolve().parents[2] / "snippets" / "graph_breaks"
#: Of what came and went each version has its own list.
TOPICS = sorted(
    {path.stem.removeprefix("causes_") for path in SNIPPETS.glob("causes_*.py")}
    - {"that_came_and_went"}
)
Causes = list[tuple[Callable[..., Any], Callable[..., Any]]]


@pytest.fixture
def causes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[Causes, torch.Tensor]]:
    """The functions that a snippet gives to the gallery, which compiles none of them here."""

    def of(name: str) -> tuple[Causes, torch.Tensor]:
        given: list[tuple[Causes, torch.Tensor]] = []
        stand_in: Any = ModuleType("_gallery")
        stand_in.COLUMNS = ()
        stand_in.gallery = lambda *of: given.append(of) or []
        stand_in.unbroken = stand_in.unmended = lambda rows: []
        monkeypatch.setitem(sys.modules, "_gallery", stand_in)
        monkeypatch.setattr(tclab, "show", lambda *_, **__: None)
        runpy.run_path(str(SNIPPETS / f"{name}.py"))
        return given[0]

    return of


@pytest.mark.parametrize("topic", TOPICS)
def test_breaks(topic, causes, compiled) -> None:
    functions, x = causes(f"causes_{topic}")
    assert len(functions) > 3
    for broken, mended in functions:
        c = compiled(broken, x.clone(), level="dynamo", name=broken.__name__)
        c.matches()
        assert c.observed.snapshot.breaks
        compiled(mended, x.clone(), level="dynamo", name=f"{broken.__name__}.mended").expect(
            breaks=0
        )
