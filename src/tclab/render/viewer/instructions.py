"""What instructions do, in a line each: of those that a chain's PTX and SASS have.

The words are our own, after the references named in ``instructions.json``. An opcode that is not
there stays without words.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tclab.render.opcodes import opcode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tclab.model import Listing

_DATA = Path(__file__).with_name("instructions.json")

#: The stages whose instructions are explained.
_STAGES = ("ptx", "sass")


@lru_cache(maxsize=1)
def reference() -> dict[str, dict[str, dict[str, str]]]:
    """Stage → `opcodes` and `modifiers`, each with what it does; and their `source`."""
    data: dict[str, dict[str, dict[str, str]]] = json.loads(_DATA.read_text(encoding="utf-8"))
    return data


def used(panes: Iterable[Listing], stage: str) -> set[str]:
    """The opcodes of a stage with their modifiers: ``LDG.E.128``."""
    codes = (pane.code for pane in panes if pane.stage == stage)
    return {opcode(line, stage) for code in codes for line in code.split("\n")} - {""}


def known(panes: Sequence[Listing]) -> dict[str, dict[str, str]]:
    """Stage → what is known of the opcodes and modifiers that occur in `panes`."""
    notes = {stage: _notes(stage, used(panes, stage)) for stage in _STAGES}
    return {stage: texts for stage, texts in notes.items() if texts}


def _notes(stage: str, names: Iterable[str]) -> dict[str, str]:
    about = reference()[stage]
    notes: dict[str, str] = {}
    for name in sorted(names):
        short, *modifiers = name.split(".")
        if short in about["opcodes"]:
            notes[short] = about["opcodes"][short]
            notes |= dict(_modifiers(short, modifiers, about["modifiers"]))
    return notes


def _modifiers(
    short: str, modifiers: Iterable[str], about: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for modifier in modifiers:
        for key in (f"{short}.{modifier}", f".{modifier}"):
            if key in about:
                yield key, about[key]
                break
