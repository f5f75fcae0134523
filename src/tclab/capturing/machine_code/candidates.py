"""What a GPU would choose among: each configuration of a kernel, compiled, with what it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tclab.capturing.machine_code import triton
from tclab.capturing.torch_private import autotuners
from tclab.model import Table
from tclab.scrub import scrub

COLUMNS = (
    "kernel", "rule", "candidate", "registers", "spilled bytes", "shared memory", "occupancy",
)  # fmt: skip

Row = tuple[str | int | float | None, ...]

# @triton_heuristics.persistent_reduction(
#     size_hints={'x': 4096, 'r0_': 1024},
_RULE = re.compile(r"@triton_heuristics\.(\w+)\(\s*(?:size_hints=(\{[^}]*\}))?")
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=(ReductionHint\.\w+)")


def table(sources: Mapping[str, str]) -> Table:
    """A row for each candidate of those Triton kernels, sources by name, that have several. The
    first candidate of a kernel is the one whose stages are shown. To be called while the target
    stands in; registers are those of a thread, shared memory is bytes of a block.
    """
    rows = [row for name, source in sources.items() for row in _rows(name, source)]
    formats = ("", "", "", "d", ",d", ",d", "")
    return Table("Candidates", "candidates", COLUMNS, tuple(rows), formats=formats)


def _rows(name: str, source: str) -> Iterator[Row]:
    autotuner = autotuners.build(name, source)
    configs = list(autotuner.configs)
    for config in configs if len(configs) > 1 else ():
        yield (name, rule(source), triton.config_text(config), *_measured(autotuner, config))


def rule(source: str) -> str:
    """``pointwise {'x': 4096}``: the function of Inductor's triton_heuristics that made the
    candidates, and what it was told: sizes rounded up to powers of two, the kind of reduction.
    """
    if not (match := _RULE.search(source)):
        return ""
    hint = _HINT.search(source)
    return " ".join(filter(None, (match[1], match[2], hint and hint[1])))


def _measured(autotuner: Any, config: Any) -> Row:
    try:
        facts = triton.taken(autotuners.compile_config(autotuner, config))
    except Exception as error:  # the GPU leaves such a candidate out
        return None, None, None, f"does not compile: {scrub(str(error)).splitlines()[0][:80]}"
    names = ("registers per thread", "spilled bytes", "shared memory bytes")
    return (*(int(facts[name]) for name in names), facts.get("occupancy", ""))
