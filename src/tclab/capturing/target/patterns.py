"""Separate Inductor's patterns for the target from those for this machine's own device.

Inductor traces its patterns once, for the device for which it compiles first.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

#: Modules of torch._inductor.fx_passes that may have patterns; not every version has all of them.
_PASSES = (
    *("joint_graph", "post_grad", "pre_grad", "pad_mm", "fuse_attention", "misc_patterns"),
    *("freezing_patterns", "decompose_mem_bound_mm", "replace_random", "binary_folding"),
    *("mkldnn_fusion", "quantization", "split_cat", "efficient_conv_bn_eval"),
    *("micro_pipeline_tp", "b2b_gemm", "group_batch_fusion"),
)

#: Cached functions whose results depend on no device, and take long to compute again.
DEVICE_INDEPENDENT = {
    *("torch_key", "lazy_init", "_pad_mm_init", "_sfdp_init", "_misc_patterns_init"),
    *("get_lang_std", "addmm_patterns_init", "get_compiler_version_info", "triton_key"),
}


PatternPass = Any  # torch._inductor.pattern_matcher.PatternMatcherPass
LazyInit = Any  # a cached function that registers patterns on its first call
#: The two tables of a pass: patterns by the operator of their root, and registered ones by text.
PassPatterns = tuple[dict[Any, list[Any]], dict[str, list[Any]]]

#: The patterns for a GPU, kept for the next target: all GPUs have the same ones.
_target_inits: dict[str, LazyInit] = {}
_target_patterns: dict[int, tuple[PatternPass, PassPatterns]] = {}


@contextmanager
def using_target_patterns() -> Iterator[None]:
    """Swap in the target's patterns during the block, and restore the earlier ones after it."""
    passes = pattern_passes()
    host_patterns = [copy_patterns(p) for p in passes]
    inits = lazy_inits()
    if not _target_patterns:
        _target_inits.update({k: _uncalled_copy(f) for k, (_, _, f) in inits.items()})
        _target_patterns.update({id(p): (p, copy_patterns(p)) for p in passes})
    for pattern_pass, patterns in _target_patterns.values():
        _restore_patterns(pattern_pass, patterns)
    with ExitStack() as stack:
        stack.enter_context(_skipping_duplicates())
        for key, (module, name, function) in inits.items():
            target_init = _target_inits.setdefault(key, _uncalled_copy(function))
            stack.enter_context(mock.patch.object(module, name, target_init))
        try:
            yield
        finally:
            _target_patterns.clear()
            _target_patterns.update({id(p): (p, copy_patterns(p)) for p in passes})
            for pattern_pass, patterns in zip(passes, host_patterns):
                _restore_patterns(pattern_pass, patterns)


def _skipping_duplicates() -> AbstractContextManager[object]:
    """Let Inductor skip patterns that are registered already, as after a compile for this machine.

    PyTorch 2.13 raises an error for a duplicate, which is the same pattern with the same graph.
    """
    from torch._inductor import pattern_matcher

    check = pattern_matcher.check_and_add_duplicate_pattern

    def check_and_skip(
        pattern: object, graph: object, seen: object, skip_duplicates: bool = False
    ) -> bool:
        return bool(check(pattern, graph, seen, skip_duplicates=True))

    return mock.patch.object(pattern_matcher, "check_and_add_duplicate_pattern", check_and_skip)


def _pass_modules() -> list[ModuleType]:
    modules = []
    for name in _PASSES:
        with contextlib.suppress(ImportError):
            modules.append(importlib.import_module(f"torch._inductor.fx_passes.{name}"))
    return modules


def pattern_passes() -> list[PatternPass]:
    """Return all of Inductor's passes that apply patterns to a graph."""
    from torch._inductor.pattern_matcher import PatternMatcherPass

    passes: dict[int, PatternPass] = {}
    for module in _pass_modules():
        for value in vars(module).values():
            candidates = value.values() if isinstance(value, dict) else value
            candidates = candidates if isinstance(value, (list, tuple, dict)) else [value]
            passes |= {id(v): v for v in candidates if isinstance(v, PatternMatcherPass)}
    return list(passes.values())


def copy_patterns(pattern_pass: PatternPass) -> PassPatterns:
    """Copy the patterns of a pass."""
    patterns = {k: list(v) for k, v in pattern_pass.patterns.items()}
    return patterns, {k: list(v) for k, v in pattern_pass.seen_patterns.items()}


def _restore_patterns(pattern_pass: PatternPass, patterns: PassPatterns) -> None:
    pattern_pass.patterns.clear()
    pattern_pass.patterns.update({k: list(v) for k, v in patterns[0].items()})
    pattern_pass.seen_patterns.clear()
    pattern_pass.seen_patterns.update({k: list(v) for k, v in patterns[1].items()})


def lazy_inits() -> dict[str, tuple[ModuleType, str, LazyInit]]:
    """Return the functions that register patterns on first use, by dotted name: module, name,
    function.
    """
    inits = {}
    for module in _pass_modules():
        for name, value in vars(module).items():
            cached = (
                isinstance(value, functools._lru_cache_wrapper)
                and value.__name__ in DEVICE_INDEPENDENT
            )
            if cached and "init" in value.__name__:
                inits[f"{module.__name__}.{name}"] = (module, name, value)
    return inits


def _uncalled_copy(lazy_init: LazyInit) -> LazyInit:
    """Return a copy of a cached function with an empty cache."""
    from torch._inductor.pattern_matcher import init_once_fakemode

    inner = lazy_init.__wrapped__
    function = getattr(inner, "__wrapped__", None)
    return functools.cache(inner) if function is None else init_once_fakemode(function)
