"""What a GPU would choose among: each configuration of a kernel, compiled, with what it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tclab.capturing.machine_code import triton
from tclab.capturing.torch_private import autotuners
from tclab.model import Candidate, Candidates
from tclab.scrub import scrub

# @triton_heuristics.persistent_reduction(
#     size_hints={'x': 4096, 'r0_': 1024},
_RULE = re.compile(r"@triton_heuristics\.(\w+)\(\s*(?:size_hints=(\{[^}]*\}))?")
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=(ReductionHint\.\w+)")


def candidates(sources: Mapping[str, str]) -> Candidates:
    """Each candidate of those Triton kernels, sources by name, that have several; the first of a
    kernel is the one whose stages are shown. To be called while the target stands in.
    """
    every = (each for name, source in sources.items() for each in _of(name, source))
    return Candidates("Candidates", "candidates", tuple(every))


def _of(name: str, source: str) -> Iterator[Candidate]:
    autotuner = autotuners.build(name, source)
    configs = list(autotuner.configs)
    for config in configs if len(configs) > 1 else ():
        untried = Candidate(name, rule(source), triton.config(config))
        yield _compiled(untried, autotuner, config)


def rule(source: str) -> str:
    """``pointwise {'x': 4096}``: the function of Inductor's triton_heuristics that made the
    candidates, and what it was told: sizes rounded up to powers of two, the kind of reduction.
    """
    if not (match := _RULE.search(source)):
        return ""
    hint = _HINT.search(source)
    return " ".join(filter(None, (match[1], match[2], hint and hint[1])))


def _compiled(candidate: Candidate, autotuner: Any, config: Any) -> Candidate:
    try:
        binary = autotuners.compile_config(autotuner, config)
    except Exception as error:  # the GPU leaves such a candidate out
        return replace(candidate, problem=scrub(str(error)).splitlines()[0][:80])
    return replace(candidate, resources=triton.taken(binary))
