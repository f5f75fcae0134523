"""The facts of a kernel as format 2 has them, name by name in words, made into values.

The only place that reads these words: recordings that have them are committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tclab.model import (
    Config,
    Configuration,
    FusedGroup,
    Json,
    KernelFacts,
    NotFused,
    Occupancy,
    Resources,
    TimedAnswer,
    TimedQuestion,
    decode,
    encode,
)

# op0, op1, which share arg0_1 (op0, op1), buf0 (op0, op1)
_SHARED = re.compile(r"(\w+) \(([^)]*)\)")
# op0 with op6_op7: no shared data; op1 with op6: no shared data
_REFUSED = re.compile(r"(\w+) with (\w+): (.*?)(?:; (?=\w+ with \w+: )|$)", re.DOTALL)
# XBLOCK=2, num_warps=2, num_stages=1 (first of 3 candidates; the GPU would time them)
_CONFIGURATION = re.compile(
    r"((?:\w+=[^,()]+, )*)num_warps=(\d+), num_stages=(\d+)"
    r"(?: \((?:first )?of (\d+) candidates(, as timed)?.*)?"
)
# 44% (28 of 64 warps), bounded by registers and blocks
_OCCUPANCY = re.compile(r"\d+% \((\d+) of (\d+) warps\), bounded by (.*)")
# timing on the GPU: addmm of [8, 64] @ [64, 10], m.py:3 (return x @ w); mm of …
_DECIDED = re.compile(r"(?:timing on the GPU: )?(\w+ of \S.*?\]), (.*?)(?:; (?=\w+ of \[)|$)")
# Triton kernel triton_poi_fused_mul_0, backward, one of two: with pad=yes
_DIRECTION = re.compile(r", (forward|backward|inference)\b")


def upgraded(kernel: dict[str, Json]) -> dict[str, Json]:
    """The data of a kernel of format 2 in format 3."""
    words = decode(kernel.get("facts", {}))
    typed = {"facts": encode(facts(words)), "direction": direction(str(kernel.get("title", "")))}
    return kernel | typed


def facts(words: Mapping[str, str]) -> KernelFacts:
    """The facts that these words say; names that are of no other fact are those of the source."""
    rest = dict(words)
    moved, configuration = _moved(rest), _configuration(rest)
    return KernelFacts(
        fused=_fused(rest.pop("fused", ""), moved),
        not_fused=_not_fused(rest.pop("not fused", "")),
        configuration=configuration,
        resources=_resources(rest, configuration),
        instructions=_number(rest.pop("instructions", "")),
        original_aten=tuple(filter(None, rest.pop("original_aten", "").split(", "))),
        calls=_number(rest.pop("calls", "")) or 0,
        first_call=rest.pop("call", ""),
        open=_open(rest.pop("one of two", ""), rest.pop("decided by", "")),
        written=rest,
    )


def direction(title: str) -> str:
    """Of which graph a kernel is, by the title it was given; '' where that does not say."""
    match = _DIRECTION.search(title)
    return match[1] if match else ""


def _number(text: str) -> int | None:
    return int(text.replace(",", "")) if text else None


def _moved(words: dict[str, str]) -> list[int]:
    """``1,024 + 8``: the bytes of each group."""
    text = words.pop("bytes moved", "")
    return [int(part.replace(",", "")) for part in text.split(" + ")] if text else []


def _fused(text: str, moved: list[int]) -> tuple[FusedGroup, ...]:
    """The groups; bytes that were known of some of them only are those of the first."""
    groups = text.split("; ") if text else [""] * len(moved)
    known: list[int | None] = [*moved, *[None] * len(groups)]
    return tuple(_group(group, number) for group, number in zip(groups, known))


def _group(text: str, moved: int | None) -> FusedGroup:
    ops, _, shared = text.removesuffix(" alone").partition(", which share ")
    buffers = {name: tuple(of.split(", ")) for name, of in _SHARED.findall(shared)}
    return FusedGroup(tuple(filter(None, ops.split(", "))), moved, buffers)


def _not_fused(text: str) -> tuple[NotFused, ...]:
    return tuple(
        NotFused(tuple(first.split("_")), tuple(second.split("_")), reason)
        for first, second, reason in _REFUSED.findall(text)
    )


def _configuration(words: dict[str, str]) -> Configuration | None:
    match = _CONFIGURATION.fullmatch(words.get("config", ""))
    if not match:
        return None
    del words["config"]
    settings = (part.split("=", 1) for part in match[1].split(", ") if part)
    constants = tuple((name, int(v) if v.isdecimal() else v) for name, v in settings)
    config = Config(constants, int(match[2]), int(match[3]))
    return Configuration(config, int(match[4] or 1), bool(match[5]))


def _resources(words: dict[str, str], chosen: Configuration | None) -> Resources | None:
    registers, spilled, shared, stack = (
        _number(words.pop(name, ""))
        for name in ("registers per thread", "spilled bytes", "shared memory bytes", "stack bytes")
    )
    occupancy = _occupancy(words.pop("occupancy", ""), chosen)
    if registers is None or spilled is None:
        return None
    return Resources(registers, spilled, shared, stack, occupancy)


def _occupancy(text: str, chosen: Configuration | None) -> Occupancy | None:
    if not (match := _OCCUPANCY.fullmatch(text)) or not chosen:
        return None
    warps = int(match[1])
    bounds = tuple(match[3].split(" and "))
    return Occupancy(warps // chosen.config.num_warps, warps, int(match[2]), bounds)


def _open(answers: str, decided_by: str) -> tuple[TimedAnswer, ...]:
    choice, _, answer = answers.partition(",")[0].partition("=")
    return tuple(
        TimedAnswer(TimedQuestion(choice, operator, place), answer)
        for operator, place in _DECIDED.findall(decided_by)
    )
