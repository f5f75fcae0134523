"""Access the state, caches, logs and settings of Dynamo and Inductor for every capture."""

from __future__ import annotations

import dis
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, ModuleType
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace.constants import name_objects
from tclab.capturing.trace.events import CompileIds

NAMES = (
    Private("torch._logging._internal", "trace_log", "the structured trace"),
    Private("torch._logging._internal", "log_registry", "names of the log artifacts"),
    Private("torch._C", "DisableTorchFunctionSubclass", "subclasses of tensors as plain tensors"),
    Private("torch._logging.structured", "INTERN_TABLE", "file names in traced stacks"),
    Private("torch._guards", "CompileContext.current_compile_id", "whose log line it is"),
    Private("torch._dynamo.convert_frame", "register_bytecode_hook", "bytecode"),
    Private("torch._dynamo.convert_frame", "dis", "prints bytecode into the structured trace"),
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
    Private("torch._dynamo.config", "disable", "whether anything is compiled"),
    Private("torch._inductor.config", "freezing", "whether weights are constants"),
    Private("torch._dynamo", "mark_dynamic", "a size that varies"),
    Private("torch._dynamo.config", "automatic_dynamic_local_pgo", "keep it in memory"),
    Private("torch._dynamo.config", "automatic_dynamic_remote_pgo", "keep it in memory"),
    Private("torch._functorch.config", "patch", "settings for the length of a block"),
    Private("torch._functorch.config", "backward_pass_autocast", "the backward's precision"),
    Private("torch._functorch.config", "enable_autograd_cache", "a hit hides stages"),
    Private("torch._inductor.config", "patch", "settings for the length of a block"),
    Private("torch._inductor.config", "fx_graph_cache", "a hit hides stages"),
    Private("torch._inductor.config", "fx_graph_remote_cache", "a hit hides stages"),
    Private("torch._inductor.config", "trace.provenance_tracking_level", "kernel origins"),
    Private("torch._inductor.config", "fallback_random", "the random numbers of eager"),
    Private(
        "torch._inductor.debug",
        "_inductor_triton_kernel_to_post_grad_node_info",
        "the nodes each kernel computes; the trace has them for forward graphs only",
    ),
    Private("torch.utils._pytree", "tree_leaves", "the tensors that a function returned"),
    Private("torch.utils._pytree", "tree_map", "the containers that a function returned"),
    Private("torch.utils._pytree", "tree_structure", "the same, where a container takes no star"),
)

#: A function that gets a frame's original code object and the rewritten one.
BytecodeHook = Callable[[CodeType, CodeType], None]

#: Log artifacts that the structured trace lacks → the name of the logger that gets each.
LOGS = {
    "ir_pre_fusion": "torch._inductor.debug.__ir_pre_fusion",
    "ir_post_fusion": "torch._inductor.debug.__ir_post_fusion",
    "fusion": "torch._inductor.scheduler.__fusion",
}


# ------------------------------------------------------------------------------ listening


@contextmanager
def attach_trace_handler(handler: logging.Handler) -> Iterator[None]:
    """Send the structured trace to `handler` during the block.

    `handler` goes first in the logger's list: PyTorch's own handler removes itself while `logging`
    walks this list, so the handler after PyTorch's would miss the first record.
    """
    from torch._logging._internal import trace_log

    level, propagate, disabled = trace_log.level, trace_log.propagate, trace_log.disabled
    trace_log.handlers.insert(0, handler)
    trace_log.setLevel(logging.DEBUG)
    trace_log.propagate = trace_log.disabled = False
    try:
        with _detach_pytest_handlers(trace_log):
            yield
    finally:
        trace_log.removeHandler(handler)
        trace_log.setLevel(level)
        trace_log.propagate, trace_log.disabled = propagate, disabled


@contextmanager
def _detach_pytest_handlers(logger: logging.Logger) -> Iterator[None]:
    """Detach pytest's handlers from `logger` during the block. Pytest attaches them to loggers
    that do not propagate, and a failing test would print every record.
    """
    detached = [
        handler for handler in logger.handlers if type(handler).__module__.startswith("_pytest.")
    ]
    for handler in detached:
        logger.removeHandler(handler)
    try:
        yield
    finally:
        for handler in detached:
            logger.addHandler(handler)


@contextmanager
def tap_log(name: str, handler: logging.Handler) -> Iterator[None]:
    """Send the records of one log artifact to `handler` during the block, without printing more
    than before.
    """
    logger = logging.getLogger(LOGS[name])
    level, propagate, disabled = logger.level, logger.propagate, logger.disabled
    if not logger.isEnabledFor(logging.DEBUG):
        logger.propagate = False  # the user did not ask to see this artifact's debug records
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.disabled = False
    try:
        with _detach_pytest_handlers(logger):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled


@contextmanager
def name_printed_objects() -> Iterator[None]:
    """During the block, replace the objects among the constants by names in the bytecode that
    Dynamo prints into the structured trace. Without this, a capture would call the `__repr__` of
    the user's objects.
    """
    from torch._dynamo import convert_frame

    printer = ModuleType(dis.__name__)
    vars(printer).update(vars(dis), Bytecode=lambda code: dis.Bytecode(name_objects(code)))
    with mock.patch.object(convert_frame, "dis", printer):
        yield


@contextmanager
def hook_bytecode(hook: BytecodeHook) -> Iterator[None]:
    """Call `hook` during the block with the original and the rewritten code of each compile, in
    which names replace the objects among the constants.
    """
    from torch._dynamo.convert_frame import register_bytecode_hook

    handle = register_bytecode_hook(lambda old, new: hook(name_objects(old), name_objects(new)))
    try:
        yield
    finally:
        handle.remove()


def current_compile_ids() -> CompileIds:
    """Return the frame and compile number of this thread's current compile, or (None, None)."""
    from torch._guards import CompileContext

    current = CompileContext.current_compile_id()
    return (current.frame_id, current.frame_compile_id) if current else (None, None)


def interned_files() -> dict[int, str]:
    """Return the file names that PyTorch interned: number → name.

    PyTorch interns most names before the capture begins, so the trace does not have them.
    """
    from torch._logging.structured import INTERN_TABLE

    return {number: name for name, number in list(INTERN_TABLE.items())}


def files_by_short_name(files: set[str]) -> dict[str, str]:
    """Map the shortened file names in PyTorch's guards to the full names, for `files` and for
    the files of all imported modules.
    """
    from torch.utils._traceback import shorten_filename

    imported = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    known = [file for file in imported if isinstance(file, str)] + sorted(files)
    return {shorten_filename(file): file for file in known}


# ------------------------------------------------------------------------------ state


@contextmanager
def make_stages_observable() -> Iterator[None]:
    """Turn off the FX graph cache and the AOTAutograd cache during the block, since a hit skips
    stages. Let Inductor track the nodes that each kernel computes.
    """
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    level = inductor.trace.provenance_tracking_level or 2  # level 2 leaves out the pre-grad passes
    settings = {
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "trace.provenance_tracking_level": level,
    }
    with functorch.patch(enable_autograd_cache=False), inductor.patch(settings):
        yield


def kernel_nodes() -> dict[str, tuple[str, ...]]:
    """Map each ``kernel:handle`` of the last graph that Inductor compiled to the names of the
    post-grad nodes that it computes.
    """
    from torch._inductor import debug

    recorded = debug._inductor_triton_kernel_to_post_grad_node_info
    return {kernel: tuple(dict.fromkeys(nodes)) for kernel, nodes in recorded.items()}


@contextmanager
def draw_as_eager() -> Iterator[None]:
    """Let compiled code draw the same random numbers as eager during the block."""
    import torch._inductor.config as inductor

    with inductor.patch(fallback_random=True):
        yield


@contextmanager
def backward_outside_autocast() -> Iterator[None]:
    """Let compiled code run its backward outside of any autocast during the block, as eager does
    unless the caller of backward() is under one.
    """
    import torch._functorch.config as functorch

    with functorch.patch(backward_pass_autocast="off"):
        yield


@contextmanager
def hide_seen_sizes() -> Iterator[None]:
    """Hide the sizes that Dynamo has seen so far (its PGO state) during the block, so that an
    earlier compile does not make a compile in the block dynamic. The state is not written to disk.
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
    """Return every code object that Dynamo has met in this process, if it is still alive."""
    from torch._dynamo.convert_frame import input_codes

    return [code for ref in list(input_codes.seen) if (code := ref()) is not None]


def module_wrapper_file() -> str:
    """Return the file of the frame that Dynamo wraps around each module of PyTorch's own."""
    from torch._dynamo.external_utils import wrap_inline

    return wrap_inline.__code__.co_filename


def has_cache_entries(code: CodeType) -> bool:
    """Return whether this code object has cache entries."""
    return bool(cache_entries(code))


def cache_entries(code: CodeType) -> list[Any]:
    """Return the cache entries of a code object, in the order in which a call tries them."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return list(_debug_get_cache_entry_list(code))


def first_failed_guard(entry: Any, values: dict[str, object]) -> str:
    """Return the first guard of a cache entry that fails for these local variables, as PyTorch
    prints it, or an empty string if all guards hold.
    """
    outcome = entry.guard_manager.check_verbose(values)
    return "" if outcome.result else "\n".join(outcome.verbose_code_parts)


def forget_code(code: CodeType) -> None:
    """Drop the cache entries of a code object, and Dynamo's decision to skip it."""
    from torch._dynamo.eval_frame import reset_code

    reset_code(code)


def is_disabled() -> bool:
    """Return whether Dynamo is switched off, so that torch.compile compiles nothing."""
    import torch._dynamo.config as dynamo

    return bool(dynamo.disable)


def freezes_weights() -> bool:
    """Return whether Inductor makes the weights constants of the code."""
    import torch._inductor.config as inductor

    return bool(inductor.freezing)


@contextmanager
def dynamo_settings(settings: Mapping[str, object]) -> Iterator[None]:
    """Set these names of torch._dynamo.config during the block. Raises AttributeError for an
    unknown name.
    """
    import torch._dynamo.config as dynamo

    with dynamo.patch(dict(settings)):
        yield


def mark_dynamic(tensor: Any, dim: int) -> None:
    """Mark one size of a tensor, before a compile, as dynamic."""
    import torch._dynamo

    torch._dynamo.mark_dynamic(tensor, dim)


def without_subclasses() -> AbstractContextManager[None]:
    """Make functions treat subclasses of torch.Tensor as plain tensors during the block."""
    import torch

    context: AbstractContextManager[None] = torch._C.DisableTorchFunctionSubclass()
    return context


def is_compiled(fn: object) -> bool:
    """Return whether torch.compile returned this callable."""
    from torch._dynamo.eval_frame import OptimizedModule

    return isinstance(fn, OptimizedModule) or hasattr(fn, "_torchdynamo_orig_callable")


def map_leaves(change: Callable[[Any], Any], value: object) -> Any:
    """Return nested tuples, lists, dicts and registered containers with each leaf changed."""
    from torch.utils._pytree import tree_map

    return tree_map(change, value)


def describe_containers(value: object) -> str:
    """Return the nested containers of a value in PyTorch's words, in one line."""
    from torch.utils._pytree import tree_structure

    return " ".join(str(tree_structure(value)).split())


def nested_leaves(value: object) -> list[Any]:
    """Return the leaves of nested tuples, lists, dicts and registered containers, in order."""
    from torch.utils._pytree import tree_leaves

    return list(tree_leaves(value))
