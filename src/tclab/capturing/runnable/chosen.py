"""Choose among Inductor's candidates for an operator the one that the job's output code has, in
place of timing them on the GPU (max-autotune), and fuse what the job fused.

A Triton template's candidate is written out before it is timed. The constants in its text, its
sizes, warps and stages name the candidate; what is fused into the kernel later adds other lines. In
another version of PyTorch constants differ, and the candidate with the same tiles is taken.
Inductor times that, too, so a kernel of the job without such lines gets none here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

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
# Of these lines, what is timed of a template:
# BLOCK_M : tl.constexpr = 128
_TILE = re.compile(r"(?:BLOCK_\w+|GROUP_M) : |[MNK] = |num_")
_SUFFIX = "# inductor generates a suffix"
_TEMPLATE = "@triton_heuristics.template("


@dataclass
class _Written:
    """A template's kernel in the job's code: the lines that name its candidate, its size, and the
    graph nodes of its first call. `more` is the number of further calls, which share the kernel.
    """

    name: frozenset[str]
    size: tuple[int, int]
    nodes: set[str]
    more: int


@dataclass
class _Choices:
    """The choices for a graph, by the output code `code` of the job, whose templates are `written`.
    `alone` are the functions that write chosen templates into which the job fused nothing.
    """

    code: str
    written: list[_Written]
    alone: list[Any] = field(default_factory=list)

    def choose(self, candidates: list[Any]) -> list[Any]:
        """Return the candidate that is in the job's code, as a list: a template's, or else a
        library's. Raises TargetError if none is.
        """
        if len(candidates) < 2:
            return candidates
        pairs = self._pair_templates(candidates)
        pair = self._find_call(pairs)
        library = None if pair else self._find_library(candidates)
        if library is not None:
            return [library]
        template, kernel = pair or next(iter(pairs), None) or _refuse(candidates)
        if kernel.size == _measure(_read_source(template)):
            self.alone.append(template.make_kernel_render)
        return [template]

    def _pair_templates(self, candidates: list[Any]) -> list[tuple[Any, _Written]]:
        """Return the candidates that are in the job's code, with their kernels there; if there are
        none, those whose tiles are.
        """
        from torch._inductor.select_algorithm import TritonTemplateCaller

        templates = [each for each in candidates if isinstance(each, TritonTemplateCaller)]
        named = [(each, _name_candidate(_read_source(each))) for each in templates]
        every = [(each, name, kernel) for each, name in named for kernel in self.written]
        exact = [(each, kernel) for each, name, kernel in every if kernel.name == name]
        return exact or [
            (each, kernel) for each, name, kernel in every if _tile(kernel.name) == _tile(name)
        ]

    def _find_call(self, pairs: list[tuple[Any, _Written]]) -> tuple[Any, _Written] | None:
        """Return the pair whose kernel was made for the node that is lowered now, or else one whose
        kernel has a further call.
        """
        from torch._inductor.virtualized import V

        node = getattr(V.graph.current_node, "name", "")
        if own := next((pair for pair in pairs if node in pair[1].nodes), None):
            return own
        shared = next((pair for pair in pairs if pair[1].more > 0), None)
        if shared:
            shared[1].more -= 1
        return shared

    def _find_library(self, candidates: list[Any]) -> Any:
        from torch._inductor.select_algorithm import ExternKernelCaller

        # extern_kernels.bias_addmm( is extern_kernels.addmm( in later versions
        for prefix in (".", "_"):
            for each in candidates:
                library = isinstance(each, ExternKernelCaller)
                if library and f"{prefix}{each.choice.name}(" in self.code:
                    return each
        return None

    def wrap_can_fuse(self, can_fuse: Callable[..., bool]) -> Callable[..., bool]:
        """Wrap Scheduler.can_fuse: nothing is fused into a template that is alone in the job."""

        def can_fuse_as_there(scheduler: Any, one: Any, two: Any, *more: Any, **named: Any) -> bool:
            templates = [each.get_template_node() for each in (one, two) if each.is_template()]
            if any(each.make_kernel_render in self.alone for each in templates):
                return False
            return can_fuse(scheduler, one, two, *more, **named)

        return can_fuse_as_there


@contextmanager
def choosing_as_in(code: str) -> Iterator[None]:
    """Within the block, Inductor gets only the candidate that the output code `code` has. Nothing
    is chosen if the code is ''.
    """
    if not code:
        yield
        return
    from torch._inductor.scheduler import Scheduler
    from torch._inductor.select_algorithm import get_algorithm_selector_cache

    choices = _Choices(code, list(_read_templates(OutputCode.parse(code))))
    functions = get_algorithm_selector_cache().preprocessing_fns
    functions.append(choices.choose)
    try:
        with mock.patch.object(Scheduler, "can_fuse", choices.wrap_can_fuse(Scheduler.can_fuse)):
            yield
    finally:
        functions.remove(choices.choose)


def _read_templates(output: OutputCode) -> Iterator[_Written]:
    for each in output.definitions:
        if _TEMPLATE in each.code:
            nodes, calls = output.commented_nodes(each), len(output.calls_to(each.name))
            more = calls - 1 if nodes else calls
            yield _Written(_name_candidate(each.code), _measure(each.code), nodes, more)


def _refuse(candidates: list[Any]) -> NoReturn:
    raise TargetError(
        f"the choice among {len(candidates)} candidates, such as {candidates[0].name}",
        "none of those that this PyTorch writes is in the job's code",
        "compile with the job's version of PyTorch",
    )


def _read_source(candidate: Any) -> str:
    return Path(candidate.bmreq.module_path).read_text(encoding="utf-8")


def _name_candidate(source: str) -> frozenset[str]:
    return frozenset(line.strip() for line in _NAMING.findall(source))


def _tile(name: frozenset[str]) -> frozenset[str]:
    return frozenset(line for line in name if _TILE.match(line))


def _measure(source: str) -> tuple[int, int]:
    """Return the number of loads and that of lines behind the template's own: what is fused into a
    kernel adds to them.
    """
    _, _, suffix = source.partition(_SUFFIX)
    return source.count("tl.load("), sum(map(bool, map(str.strip, suffix.splitlines())))
