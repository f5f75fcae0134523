"""Dynamo, its caches, its logs and settings: what every capture asks of PyTorch's private parts."""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace.events import Ids

NAMES = (
    Private("torch._logging._internal", "trace_log", "the structured trace"),
    Private("torch._logging._internal", "log_registry", "names of the log artifacts"),
    Private("torch._logging.structured", "INTERN_TABLE", "file names in traced stacks"),
    Private("torch._guards", "CompileContext.current_compile_id", "whose log line it is"),
    Private("torch._dynamo.convert_frame", "register_bytecode_hook", "bytecode"),
    Private("torch._dynamo.convert_frame", "input_codes.seen", "code Dynamo has met"),
    Private("torch._dynamo.eval_frame", "reset_code", "forget one code object"),
    Private("torch._dynamo.external_utils", "wrap_inline", "the frame around a module"),
    Private("torch._dynamo.eval_frame", "_debug_get_cache_entry_list", "what is compiled"),
    Private("torch._dynamo.eval_frame", "OptimizedModule", "a compiled module"),
    Private("torch.utils._traceback", "shorten_filename", "files in comments of guards"),
    Private("torch._dynamo.pgo", "_CODE_STATE", "sizes seen before, by file and line"),
    Private("torch._dynamo.pgo", "_INIT_CODE_STATE", "the same, as first read"),
    Private("torch._dynamo.pgo", "CodeState", "an entry of it"),
    Private("torch._dynamo.config", "patch", "settings for the length of a block"),
    Private("torch._dynamo.config", "automatic_dynamic_local_pgo", "keep it in memory"),
    Private("torch._dynamo.config", "automatic_dynamic_remote_pgo", "keep it in memory"),
    Private("torch._functorch.config", "patch", "settings for the length of a block"),
    Private("torch._functorch.config", "enable_autograd_cache", "a hit hides stages"),
    Private("torch._inductor.config", "patch", "settings for the length of a block"),
    Private("torch._inductor.config", "fx_graph_cache", "a hit hides stages"),
    Private("torch._inductor.config", "fx_graph_remote_cache", "a hit hides stages"),
    Private("torch._inductor.config", "trace.provenance_tracking_level", "kernel origins"),
    Private(
        "torch._inductor.debug",
        "_inductor_triton_kernel_to_post_grad_node_info",
        "the nodes each kernel computes; the trace has them for forward graphs only",
    ),
    Private("torch.utils._pytree", "tree_leaves", "the tensors that a function returned"),
)

#: Called with the original code of a frame and the rewritten one.
BytecodeHook = Callable[[CodeType, CodeType], None]

#: Log artifacts that the structured trace lacks, with the logger each one is written to.
LOGS = {
    "ir_pre_fusion": "torch._inductor.debug.__ir_pre_fusion",
    "ir_post_fusion": "torch._inductor.debug.__ir_post_fusion",
    "fusion": "torch._inductor.scheduler.__fusion",
}


# ------------------------------------------------------------------------------ listening


@contextmanager
def trace_handler(handler: logging.Handler) -> Iterator[None]:
    """Let `handler` see the structured trace.

    It goes first: PyTorch's own handler removes itself while the list is being walked, which
    would make the first record skip the next handler.
    """
    from torch._logging._internal import trace_log

    level, propagate, disabled = trace_log.level, trace_log.propagate, trace_log.disabled
    trace_log.handlers.insert(0, handler)
    trace_log.setLevel(logging.DEBUG)
    trace_log.propagate = trace_log.disabled = False
    try:
        with _unheard_by_pytest(trace_log):
            yield
    finally:
        trace_log.removeHandler(handler)
        trace_log.setLevel(level)
        trace_log.propagate, trace_log.disabled = propagate, disabled


@contextmanager
def _unheard_by_pytest(logger: logging.Logger) -> Iterator[None]:
    """Take away pytest's handlers, which it gives to loggers that do not propagate: a test that
    fails would print every record.
    """
    theirs = [each for each in logger.handlers if type(each).__module__.startswith("_pytest.")]
    for handler in theirs:
        logger.removeHandler(handler)
    try:
        yield
    finally:
        for handler in theirs:
            logger.addHandler(handler)


@contextmanager
def log_tap(name: str, handler: logging.Handler) -> Iterator[None]:
    """Let `handler` see one log artifact; what was not printed before is not printed now."""
    logger = logging.getLogger(LOGS[name])
    level, propagate, disabled = logger.level, logger.propagate, logger.disabled
    if not logger.isEnabledFor(logging.DEBUG):
        logger.propagate = False  # these artifacts carry nothing above their own level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.disabled = False
    try:
        with _unheard_by_pytest(logger):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled


@contextmanager
def bytecode_hook(hook: BytecodeHook) -> Iterator[None]:
    """Call `hook` with the original and the rewritten code of each frame that is compiled."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    handle = register_bytecode_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def compile_id() -> Ids:
    """Frame and compile number of the compile this thread is in, or None, None."""
    from torch._guards import CompileContext

    here = CompileContext.current_compile_id()
    return (here.frame_id, here.frame_compile_id) if here else (None, None)


def file_of(interned: int) -> str:
    """The file name behind a number in a traced stack. Most are interned before the capture."""
    from torch._logging.structured import INTERN_TABLE

    for name, number in list(INTERN_TABLE.items()):
        if number == interned:
            return name
    return ""


def shortened(files: set[str]) -> dict[str, str]:
    """What PyTorch prints for a file in guards → the file, for `files` and imported modules."""
    from torch.utils._traceback import shorten_filename

    imported = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    known = [file for file in imported if isinstance(file, str)] + sorted(files)
    return {shorten_filename(file): file for file in known}


# ------------------------------------------------------------------------------ state


@contextmanager
def observable() -> Iterator[None]:
    """No FX graph cache and no AOTAutograd cache, since a hit would skip the stages after it;
    and Inductor keeps note of the nodes each kernel computes.
    """
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    level = inductor.trace.provenance_tracking_level or 2  # 2: without the pre-grad passes
    settings = {
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "trace.provenance_tracking_level": level,
    }
    with functorch.patch(enable_autograd_cache=False), inductor.patch(settings):
        yield


def kernel_nodes() -> dict[str, tuple[str, ...]]:
    """``kernel:handle`` → post-grad nodes it computes, for the graph Inductor just compiled."""
    from torch._inductor import debug

    recorded = debug._inductor_triton_kernel_to_post_grad_node_info
    return {kernel: tuple(dict.fromkeys(nodes)) for kernel, nodes in recorded.items()}


@contextmanager
def no_profile() -> Iterator[None]:
    """An empty record of sizes seen before, so that an earlier compile does not make this one
    dynamic; the old record comes back, and nothing is written to disk.
    """
    import torch._dynamo.config as dynamo
    from torch._dynamo import pgo

    before = pgo._CODE_STATE, pgo._INIT_CODE_STATE
    local = {"automatic_dynamic_local_pgo": False, "automatic_dynamic_remote_pgo": False}
    pgo._CODE_STATE, pgo._INIT_CODE_STATE = defaultdict(pgo.CodeState), None
    try:
        with dynamo.patch(local):
            yield
    finally:
        pgo._CODE_STATE, pgo._INIT_CODE_STATE = before


def known_codes() -> list[CodeType]:
    """Every code object Dynamo has looked at in this process and that is still alive."""
    from torch._dynamo.convert_frame import input_codes

    return [code for ref in list(input_codes.seen) if (code := ref()) is not None]


def frames_around_modules() -> str:
    """The file of the frame that Dynamo puts around a module of PyTorch's: one for all of them."""
    from torch._dynamo.external_utils import wrap_inline

    return wrap_inline.__code__.co_filename


def is_cached(code: CodeType) -> bool:
    """Whether Dynamo holds compiled code for this code object."""
    return bool(entries(code))


def entries(code: CodeType) -> list[Any]:
    """The cache entries of a code object, in the order in which a call tries them."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return list(_debug_get_cache_entry_list(code))


def failed_guard(entry: Any, values: dict[str, object]) -> str:
    """The first guard of an entry that local `values` do not satisfy, as PyTorch says it, or ''."""
    answer = entry.guard_manager.check_verbose(values)
    return "" if answer.result else "\n".join(answer.verbose_code_parts)


def forget(code: CodeType) -> None:
    """Drop Dynamo's cache entries and verdict for one code object."""
    from torch._dynamo.eval_frame import reset_code

    reset_code(code)


def is_compiled(fn: object) -> bool:
    """Whether torch.compile made this callable."""
    from torch._dynamo.eval_frame import OptimizedModule

    return isinstance(fn, OptimizedModule) or hasattr(fn, "_torchdynamo_orig_callable")


def leaves(value: object) -> list[Any]:
    """The leaves of nested tuples, lists, dicts and registered containers, in order."""
    from torch.utils._pytree import tree_leaves

    return list(tree_leaves(value))
