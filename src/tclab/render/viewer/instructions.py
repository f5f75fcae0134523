"""What instructions do, in a line each: of those that a chain's PTX and SASS have.

The words are our own, after the references named in ``instructions.json``. Of an opcode that is
not there nothing is said.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tclab.model import Listing

_DATA = Path(__file__).with_name("instructions.json")

#: Of each stage, the opcode of a line.
_OPCODE = {
    #   @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
    "ptx": re.compile(r"^\s*\{?\s*(?:@!?%\w+\s+)?([a-z]\w*(?:[.:]+\w+)*)[\s;]", re.MULTILINE),
    #   /*0110*/  @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;
    "sass": re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)", re.MULTILINE),
}


@lru_cache(maxsize=1)
def reference() -> dict[str, dict[str, dict[str, str]]]:
    """Stage → `opcodes` and `modifiers`, each with what it does; and their `source`."""
    data: dict[str, dict[str, dict[str, str]]] = json.loads(_DATA.read_text(encoding="utf-8"))
    return data


def opcodes(stage: str, code: str) -> set[str]:
    """The opcodes of a listing with their modifiers: ``LDG.E.128``."""
    pattern = _OPCODE.get(stage)
    return set(pattern.findall(code)) if pattern else set()


def known(panes: Iterable[Listing]) -> dict[str, dict[str, str]]:
    """Stage → what is known of the opcodes and modifiers that occur in `panes`."""
    used: dict[str, set[str]] = {stage: set() for stage in _OPCODE}
    for pane in panes:
        if pane.stage in used:
            used[pane.stage] |= opcodes(pane.stage, pane.code)
    return {stage: _told(stage, names) for stage, names in used.items() if names}


def _told(stage: str, names: Iterable[str]) -> dict[str, str]:
    about = reference()[stage]
    told: dict[str, str] = {}
    for name in sorted(names):
        opcode, *modifiers = name.split(".")
        if opcode in about["opcodes"]:
            told[opcode] = about["opcodes"][opcode]
            told |= dict(_modifiers(opcode, modifiers, about["modifiers"]))
    return told


def _modifiers(
    opcode: str, modifiers: Iterable[str], about: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for modifier in modifiers:
        for key in (f"{opcode}.{modifier}", f".{modifier}"):
            if key in about:
                yield key, about[key]
                break
