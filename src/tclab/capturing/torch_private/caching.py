"""Note whether the caches of AOTAutograd and of Inductor can keep each graph, and if not, why.

A capture takes no result from a cache. So PyTorch is only asked for the key of each graph, which it
makes before the lookup. If PyTorch makes no key, it says why it bypasses the cache. Nothing is
looked up in a cache, and nothing is kept there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

_AUTOGRAD = "torch._functorch._aot_autograd.autograd_cache"
NAMES = (
    Private(_AUTOGRAD, "AOTAutogradCache.try_load", "whether AOTAutograd's cache takes a graph"),
    Private(_AUTOGRAD, "AOTAutogradCache._lookup", "take nothing from the cache"),
    Private("torch._inductor.codecache", "FxGraphCache.prepare_key", "whether Inductor's does"),
    Private("torch._inductor.compile_fx", "fx_codegen_and_compile", "what Inductor compiles"),
)


@contextmanager
def note_caching(trace: Trace) -> Iterator[None]:
    """Let PyTorch note in its trace, during the block, which graphs AOTAutograd's cache can keep.
    Add the same events for Inductor's cache to `trace`.
    """
    import torch._functorch.config as functorch
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
    from torch._inductor import compile_fx

    asked = staticmethod(_wrap_try_load(AOTAutogradCache.try_load))
    noted = _wrap_compile(compile_fx.fx_codegen_and_compile, trace)
    with ExitStack() as stack:
        stack.enter_context(functorch.patch(enable_autograd_cache=True))
        stack.enter_context(mock.patch.object(AOTAutogradCache, "try_load", asked))
        stack.enter_context(mock.patch.object(compile_fx, "fx_codegen_and_compile", noted))
        yield


def _wrap_try_load(try_load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `try_load` so that it finds no entry, and sets no key under which AOTAutograd would
    store an entry.
    """
    import torch._inductor.config as inductor
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

    def ask(mod: Any, args: Any, aot_config: Any, *rest: Any, **more: Any) -> Any:
        with (
            inductor.patch(fx_graph_cache=True),
            mock.patch.object(AOTAutogradCache, "_lookup", return_value=None),
        ):
            found = try_load(mod, args, aot_config, *rest, **more)
        if isinstance(found, tuple):  # from 2.13 on, a pair of the function and a configuration
            return None, aot_config
        aot_config.cache_info = None
        return None

    return ask


def _wrap_compile(compile_: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """Wrap Inductor's compile of a graph: add an event on its cache to `trace` first."""
    from torch._inductor.codecache import FxGraphCache

    def compile_and_note(graph: Any, inputs: Any, to_check: Any, *rest: Any, **options: Any) -> Any:
        of_graph = {k: v for k, v in options.items() if k != "compile_region_name"}
        try:
            key, info = FxGraphCache.prepare_key(graph, inputs, of_graph, to_check, False)
        except Exception as error:  # with the caches on, this compile would fail
            key, info = None, {"cache_bypass_reason": f"{type(error).__name__}: {error}"}
        name = names.INDUCTOR_MISS if key else names.INDUCTOR_BYPASS
        reason = info.get("cache_bypass_reason", "")
        payload = json.dumps({"cache_bypass_reason": reason})
        trace.add(name, None, payload, compiler.current_compile_ids())
        return compile_(graph, inputs, to_check, *rest, **options)

    return compile_and_note
