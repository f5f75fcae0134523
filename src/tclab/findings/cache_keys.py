"""Say in which parts two keys of a cache differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

from tclab.findings.words import join_few
from tclab.model import KeyPart

#: A value that is longer is shown only where it differs.
_LONG = 60
# index=0) → index=1)
_GPU_INDEX = re.compile(r"index=\d+\)* → index=\d+\)*")
#: What differs between the keys of ranks, each of which has a GPU of its own.
GPU_INDEX = "the index of the GPU"


def describe_changes(parts: Sequence[KeyPart]) -> str:
    """Return the parts that differ with both values, such as ``inductor_config[debug]: False →
    True``. Parts that differ in the same words are named together. Returns `GPU_INDEX` if tensors
    differ in nothing else.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        names[_describe_values(part)].append(part.name)
    if all(map(_GPU_INDEX.fullmatch, names)):
        return GPU_INDEX
    return join_few([
        f"{_name_parts(group)}{change or 'other values, which the trace does not show'}"
        for change, group in names.items()
    ])  # fmt: skip


def _describe_values(part: KeyPart) -> str:
    """Return what differs between the two values; '' if they read alike."""
    if part.before == part.after:
        return ""
    before, after = part.before.split(" "), part.after.split(" ")
    if min(len(part.before), len(part.after)) > _LONG:
        start = _count_equal(before, after)
        end = _count_equal(before[start:][::-1], after[start:][::-1])
        before, after = before[start : len(before) - end], after[start : len(after) - end]
    one, two = (" ".join(words).rstrip(",") or "nothing" for words in (before, after))
    return f"{one} → {two}"


def _count_equal(one: Sequence[str], other: Sequence[str]) -> int:
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other))])


def _name_parts(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: "
