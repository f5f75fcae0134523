"""Explain the instructions in a chain's PTX and SASS, in one line each.

The texts are our own, based on the references named in ``instructions.json``. An opcode that is
not in that file has no explanation.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tclab.render.opcodes import find_opcode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tclab.model import Listing

_DATA = files(__package__) / "instructions.json"

#: The stages whose instructions are explained.
_STAGES = ("ptx", "sass")


@lru_cache(maxsize=1)
def load_reference() -> dict[str, dict[str, dict[str, str]]]:
    """Map each stage to the explanations of its `opcodes` and `modifiers`, and their `source`."""
    data: dict[str, dict[str, dict[str, str]]] = json.loads(_DATA.read_text(encoding="utf-8"))
    return data


def used_opcodes(panes: Iterable[Listing], stage: str) -> set[str]:
    """Return the opcodes in a stage's code with their modifiers: ``LDG.E.128``."""
    code_texts = (pane.code for pane in panes if pane.stage == stage)
    return {find_opcode(line, stage) for code in code_texts for line in code.split("\n")} - {""}


def explain_opcodes(panes: Sequence[Listing]) -> dict[str, dict[str, str]]:
    """Map each stage to the explanations of the opcodes and modifiers in `panes`."""
    notes = {stage: _explain(stage, used_opcodes(panes, stage)) for stage in _STAGES}
    return {stage: texts for stage, texts in notes.items() if texts}


def _explain(stage: str, names: Iterable[str]) -> dict[str, str]:
    about = load_reference()[stage]
    notes: dict[str, str] = {}
    for name in sorted(names):
        short, *modifiers = name.split(".")
        if short in about["opcodes"]:
            notes[short] = about["opcodes"][short]
            notes |= dict(_explain_modifiers(short, modifiers, about["modifiers"]))
    return notes


def _explain_modifiers(
    short: str, modifiers: Iterable[str], about: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for modifier in modifiers:
        for key in (f"{short}.{modifier}", f".{modifier}"):
            if key in about:
                yield key, about[key]
                break
