"""What a GPU would choose among: each configuration of a kernel, compiled, with what it takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tclab.capturing.machine_code import triton
from tclab.capturing.read.units import CompiledKernel
from tclab.capturing.torch_private import autotuners
from tclab.model import Candidate, Candidates
from tclab.scrub import scrub

# @triton_heuristics.persistent_reduction(
#     size_hints={'x': 4096, 'r0_': 1024},
_RULE = re.compile(r"@triton_heuristics\.(\w+)\(\s*(?:size_hints=(\{[^}]*\}))?")
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=(ReductionHint\.\w+)")


def candidates(kernels: Iterable[CompiledKernel]) -> Candidates:
    """Each candidate of those Triton kernels that have several; the first of a kernel is the one
    that it was compiled with. To be called while the target stands in.
    """
    every = (each for kernel in kernels if len(kernel.candidates) > 1 for each in _of(kernel))
    return Candidates("Candidates", "candidates", tuple(every))


def _of(kernel: CompiledKernel) -> Iterator[Candidate]:
    autotuner = autotuners.build(kernel.name, kernel.source)
    untried = [Candidate(kernel.name, rule(kernel.source), each) for each in kernel.candidates]
    yield replace(untried[0], resources=kernel.resources)
    for candidate, config in zip(untried[1:], autotuner.configs[1:]):
        yield _compiled(candidate, autotuner, config)


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
