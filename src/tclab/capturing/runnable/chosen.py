"""Choose among Inductor's candidates for an operator the one that the job's output code has, in
place of timing them on the GPU (max-autotune).

A Triton template's candidate is written out before it is timed. The constants in its text, its
sizes, warps and stages name the candidate; what is fused into the kernel later adds other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tclab.capturing.read.output_code import OutputCode
from tclab.targets import TargetError

#: The settings of which the job's code shows what they chose.
SETTINGS = frozenset({
    *("max_autotune", "max_autotune_gemm", "max_autotune_pointwise", "coordinate_descent_tuning"),
})  # fmt: skip
#     BLOCK_M : tl.constexpr = 128
#     M = 1024
# num_warps=8,
_NAMING = re.compile(
    r"^(?: +\w+ : tl\.constexpr = .+| +[MNK] = .+|num_(?:stages|warps)=\d+,)$", re.MULTILINE
)
_TEMPLATE = "@triton_heuristics.template("


@contextmanager
def choosing_as_in(code: str) -> Iterator[None]:
    """Within the block, Inductor gets only the candidate that the output code `code` has. Nothing
    is chosen if the code is ''.
    """
    if not code:
        yield
        return
    from torch._inductor.select_algorithm import get_algorithm_selector_cache

    sources = OutputCode.parse(code).triton_sources().values()
    written = {_name_candidate(source) for source in sources if _TEMPLATE in source}

    def choose(candidates: list[Any]) -> list[Any]:
        return [_choose(candidates, written, code)] if len(candidates) > 1 else candidates

    functions = get_algorithm_selector_cache().preprocessing_fns
    functions.append(choose)
    try:
        yield
    finally:
        functions.remove(choose)


def _choose(candidates: Sequence[Any], written: set[frozenset[str]], code: str) -> Any:
    """Return the candidate that is in the job's code: a template's, or else a library's. Raises
    TargetError if none is.
    """
    from torch._inductor.select_algorithm import ExternKernelCaller, TritonTemplateCaller

    for each in candidates:
        if isinstance(each, TritonTemplateCaller) and _read_name(each) in written:
            return each
    for each in candidates:
        if isinstance(each, ExternKernelCaller) and f"{each.choice.call_name()}(" in code:
            return each
    raise TargetError(
        f"the choice among {len(candidates)} candidates, such as {candidates[0].name}",
        "none of those that this PyTorch writes is in the job's code",
        "compile with the job's version of PyTorch",
    )


def _read_name(candidate: Any) -> frozenset[str]:
    return _name_candidate(Path(candidate.bmreq.module_path).read_text(encoding="utf-8"))


def _name_candidate(source: str) -> frozenset[str]:
    return frozenset(line.strip() for line in _NAMING.findall(source))
