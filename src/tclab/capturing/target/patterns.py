"""Inductor's patterns, which are traced on first use for the device at hand: two sets of them."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

#: Modules of torch._inductor.fx_passes that may hold patterns; not every version has each.
_PASSES = (
    *("joint_graph", "post_grad", "pre_grad", "pad_mm", "fuse_attention", "misc_patterns"),
    *("freezing_patterns", "decompose_mem_bound_mm", "replace_random", "binary_folding"),
    *("mkldnn_fusion", "quantization", "split_cat", "efficient_conv_bn_eval"),
    *("micro_pipeline_tp", "b2b_gemm", "group_batch_fusion"),
)

#: Cached functions that remember no device, and are slow to fill.
NEUTRAL = {
    *("torch_key", "lazy_init", "_pad_mm_init", "_sfdp_init", "_misc_patterns_init"),
    *("get_lang_std", "addmm_patterns_init", "get_compiler_version_info", "triton_key"),
}


PatternPass = Any  # torch._inductor.pattern_matcher.PatternMatcherPass
LazyInit = Any  # a cached function that makes patterns when it is first called
#: What a pass holds: patterns by what they begin with, and those seen, by their text.
Contents = tuple[dict[Any, list[Any]], dict[str, list[Any]]]

#: Patterns as made for a GPU, kept for the next target: they do not depend on which GPU it is.
_target_inits: dict[str, LazyInit] = {}
_target_contents: dict[int, tuple[PatternPass, Contents]] = {}


@contextmanager
def kept_apart() -> Iterator[None]:
    """Inductor's patterns are traced on first use, for the device at hand; keep two sets."""
    passes = pattern_passes()
    here = [contents(p) for p in passes]
    inits = lazy_inits()
    if not _target_contents:
        _target_inits.update({k: _again(f) for k, (_, _, f) in inits.items()})
        _target_contents.update({id(p): (p, contents(p)) for p in passes})
    for pattern_pass, patterns in _target_contents.values():
        _set_contents(pattern_pass, patterns)
    with ExitStack() as stack:
        stack.enter_context(_duplicates_skipped())
        for key, (module, name, function) in inits.items():
            own = _target_inits.setdefault(key, _again(function))
            stack.enter_context(mock.patch.object(module, name, own))
        try:
            yield
        finally:
            _target_contents.clear()
            _target_contents.update({id(p): (p, contents(p)) for p in passes})
            for pattern_pass, patterns in zip(passes, here):
                _set_contents(pattern_pass, patterns)


def _duplicates_skipped() -> AbstractContextManager[object]:
    """In a process that compiled for its own device, some patterns are there already: as they are.

    2.13 raises on a second copy; a copy is one with the same pattern and the same graph.
    """
    from torch._inductor import pattern_matcher

    check = pattern_matcher.check_and_add_duplicate_pattern

    def skipping(
        pattern: object, graph: object, seen: object, skip_duplicates: bool = False
    ) -> bool:
        return bool(check(pattern, graph, seen, skip_duplicates=True))

    return mock.patch.object(pattern_matcher, "check_and_add_duplicate_pattern", skipping)


def _pass_modules() -> list[ModuleType]:
    modules = []
    for name in _PASSES:
        with contextlib.suppress(ImportError):
            modules.append(importlib.import_module(f"torch._inductor.fx_passes.{name}"))
    return modules


def pattern_passes() -> list[PatternPass]:
    """Every pass over a graph that Inductor has patterns for."""
    from torch._inductor.pattern_matcher import PatternMatcherPass

    passes: dict[int, PatternPass] = {}
    for module in _pass_modules():
        for value in vars(module).values():
            several = value.values() if isinstance(value, dict) else value
            several = several if isinstance(value, (list, tuple, dict)) else [value]
            passes |= {id(v): v for v in several if isinstance(v, PatternMatcherPass)}
    return list(passes.values())


def contents(pattern_pass: PatternPass) -> Contents:
    """What a pass holds, copied."""
    patterns = {k: list(v) for k, v in pattern_pass.patterns.items()}
    return patterns, {k: list(v) for k, v in pattern_pass.seen_patterns.items()}


def _set_contents(pattern_pass: PatternPass, wanted: Contents) -> None:
    pattern_pass.patterns.clear()
    pattern_pass.patterns.update({k: list(v) for k, v in wanted[0].items()})
    pattern_pass.seen_patterns.clear()
    pattern_pass.seen_patterns.update({k: list(v) for k, v in wanted[1].items()})


def lazy_inits() -> dict[str, tuple[ModuleType, str, LazyInit]]:
    """The functions that make patterns on first use, wherever they are named."""
    inits = {}
    for module in _pass_modules():
        for name, value in vars(module).items():
            cached = isinstance(value, functools._lru_cache_wrapper) and value.__name__ in NEUTRAL
            if cached and "init" in value.__name__:
                inits[f"{module.__name__}.{name}"] = (module, name, value)
    return inits


def _again(lazy_init: LazyInit) -> LazyInit:
    """The same function, not yet called."""
    from torch._inductor.pattern_matcher import init_once_fakemode

    inner = lazy_init.__wrapped__
    again = getattr(inner, "__wrapped__", None)
    return functools.cache(inner) if again is None else init_once_fakemode(again)
