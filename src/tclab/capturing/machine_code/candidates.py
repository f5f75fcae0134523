"""Compile each configuration of a kernel that a GPU would time, and report its resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tclab.capturing.machine_code import triton
from tclab.capturing.read.units import CompiledKernel
from tclab.capturing.torch_private import autotuners
from tclab.model import Candidate, Candidates
from tclab.text.scrub import scrub

# @triton_heuristics.persistent_reduction(
#     size_hints={'x': 4096, 'r0_': 1024},
_RULE = re.compile(r"@triton_heuristics\.(\w+)\(\s*(?:size_hints=(\{[^}]*\}))?")
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=(ReductionHint\.\w+)")


def compile_candidates(kernels: Iterable[CompiledKernel]) -> Candidates:
    """Compile all candidates of the Triton kernels that have several. Call this within a `fake_gpu`
    block.

    The first candidate of a kernel is the configuration that it was compiled with.
    """
    several = [kernel for kernel in kernels if len(kernel.candidates) > 1]
    rows = tuple(candidate for kernel in several for candidate in _list_candidates(kernel))
    return Candidates("Candidates", "candidates", rows)


def _list_candidates(kernel: CompiledKernel) -> Iterator[Candidate]:
    autotuner = autotuners.build_autotuner(kernel.name, kernel.source)
    heuristic = read_heuristic(kernel.source)
    candidates = [Candidate(kernel.name, heuristic, config) for config in kernel.candidates]
    yield replace(candidates[0], resources=kernel.resources)
    for candidate, config in zip(candidates[1:], autotuner.configs[1:]):
        yield _compile_candidate(candidate, autotuner, config)


def read_heuristic(source: str) -> str:
    """Return the name of the function of Inductor's triton_heuristics that made the candidates,
    with its hints.

    An example is ``pointwise {'x': 4096}``. The hints are the sizes, rounded up to powers of two,
    and the kind of reduction. Return '' if the source names no such function.
    """
    if not (match := _RULE.search(source)):
        return ""
    hint = _HINT.search(source)
    return " ".join(filter(None, (match[1], match[2], hint and hint[1])))


def _compile_candidate(candidate: Candidate, autotuner: Any, config: Any) -> Candidate:
    try:
        binary = autotuners.compile_config(autotuner, config)
    except Exception as error:  # on the GPU, Inductor skips a candidate that fails to compile
        return replace(candidate, problem=scrub(str(error)).splitlines()[0][:80])
    return replace(candidate, resources=triton.read_resources(binary))
