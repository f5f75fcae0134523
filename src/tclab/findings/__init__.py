"""Make the findings of one compile. A finding says what happened, what it costs and what to do. The
rules read only values, so that they work for values from any source.
"""

from __future__ import annotations

from itertools import chain

from tclab.findings import (
    breaks,
    cache_bypasses,
    complex_numbers,
    cuda_graphs,
    kernels,
    recompiles,
    truth,
    unrolled_loops,
)
from tclab.findings.evidence import Evidence
from tclab.findings.kernels import CUDA_GRAPH_MODES
from tclab.model import Finding, rank_findings

__all__ = ["CUDA_GRAPH_MODES", "Evidence", "find", "find_marks"]

RULES = (
    *truth.RULES,
    *breaks.RULES,
    *recompiles.RULES,
    *cache_bypasses.RULES,
    *unrolled_loops.RULES,
    *kernels.RULES,
    *cuda_graphs.RULES,
    *complex_numbers.RULES,
)


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """Return the findings of every rule, the highest cost first."""
    return rank_findings(tuple(chain.from_iterable(rule(evidence) for rule in RULES)))


def find_marks(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what is only marked at its lines, because there is nothing to do."""
    return tuple(recompiles.mark_recompiles(evidence))
