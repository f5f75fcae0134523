"""Compile functions on one side: on the GPU with plain ``torch.compile``, or for the target.

``python -m tclab.workshop.verify.sides SIDE CORPUS TARGET OUT NAME…`` compiles the functions NAME.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclab.errors import NoGradient
from tclab.workshop.catalog.example import Example, FunctionCall
from tclab.workshop.verify.results import Result, Variant, result_path, save

if TYPE_CHECKING:
    from tclab.capturing.target.timing.variants import GraphAlternatives
    from tclab.capturing.target.timing.variants import Variant as TargetVariant


def compile_and_save(name: str, corpus: str, side: str, target: str, out: Path) -> None:
    """Compile one function on one side and save the result, or the reason why it failed."""
    from tclab.workshop.catalog import find

    start = time.perf_counter()
    try:
        example = find(name, corpus)
        compiled = compile_on_gpu(example) if side == "gpu" else compile_for_target(example, target)
        result: Result = {**compiled, "status": "done"}
    except Exception as error:
        result = _describe_error(name, corpus, side, error)
    result["seconds"] = round(time.perf_counter() - start, 2)
    save(result_path(out, side, name), result)


def _describe_error(name: str, corpus: str, side: str, error: Exception) -> Result:
    """Return the result of a compile that raised. If the function also raises without
    torch.compile, the result counts as refused, like the errors that a target names. On the GPU any
    error without torch.compile counts. For a target, the function is run on the CPU, and the type
    and the text of the error must be the same.
    """
    import torch

    from tclab.targets import TargetError

    if isinstance(error, TargetError):
        return {"status": "refused", "reason": str(error)}
    trace = traceback.format_exc()[-4000:]
    # without a GPU, nothing runs there in eager, either
    if side == "gpu" and not torch.cuda.is_available():
        return {"status": "failed", "reason": trace}
    own = _find_eager_error(name, corpus, "cuda" if side == "gpu" else "cpu")
    if own and (side == "gpu" or (isinstance(error, type(own)) and str(own) in str(error))):
        return {"status": "refused", "reason": f"it raises without torch.compile, too: {own}"}
    return {"status": "failed", "reason": trace}


def _find_eager_error(name: str, corpus: str, device: str) -> Exception | None:
    """Return the error that an example raises without a compile, on a device."""
    from tclab.capturing.backward import run_backward
    from tclab.workshop.catalog import find

    try:
        example = find(name, corpus)
        fn, args = make_call(example, device)
        result = (fn if device == "cpu" else move_to_gpu(fn))(*args)
        if example.backward:
            run_backward(result)
    except Exception as error:
        return error
    return None


def compile_for_target(example: Example, target: str) -> Result:
    """Compile an example for a target without a GPU; return the output code and its variants."""
    from tclab.capturing.target.capture import capture_for

    fn, args = make_call(example, "cpu")
    options: dict[str, Any] = {"options": example.options, "assume": {"pad": "both"}}
    try:
        capture = capture_for(fn, target, [(args, {})], backward=example.backward, **options)
    except NoGradient:  # the operator has a gradient, but this sample's result has none
        capture = capture_for(fn, target, [(args, {})], **options)
    graphs = capture.outcome.alternatives
    return {
        "wrappers": list(capture.wrapper_code),
        "variants": [_make_variant(graph, each) for graph in graphs for each in graph.variants],
        "otherwise": [
            _make_variant(graph, graph.counterfactual) for graph in graphs if graph.counterfactual
        ],
        "products": sorted(
            {q.key for graph in graphs for q in graph.untimed_questions + graph.measured}
        ),
        "gaps": [
            *map(str, capture.gaps),
            *(f"{o}, {line}" for o, line in capture.on_host),
            *(gap for graph in graphs for gap in _find_uncompiled_variants(graph)),
        ],
    }


def _find_uncompiled_variants(graph: GraphAlternatives) -> list[str]:
    """Return a gap if the GPU may time more combinations than the target compiled."""
    from tclab.capturing.target.timing.combinations import MOST_COMPILES

    if len(graph.variants) + 1 < MOST_COMPILES:
        return []
    return [f"the GPU times more combinations than the {MOST_COMPILES} that were compiled"]


def _make_variant(graph: GraphAlternatives, variant: TargetVariant) -> Variant:
    return {
        "questions": [str(q) for group in sorted(variant.flipped) for q in graph.groups[group]],
        "wrappers": list(variant.wrappers),
        "after": graph.graphs_before,
        "instead_of": graph.count,
    }


def compile_on_gpu(example: Example) -> Result:
    """Compile an example on this GPU with plain ``torch.compile``, as users do; return the output
    code.

    tclab changes nothing in this compile. It only reads the code from PyTorch's structured trace.
    """
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.capturing.torch_private.compiler import attach_trace_handler

    fn, args = make_call(example, "cuda")
    fn = move_to_gpu(fn)
    # without a reset, code that several examples share would get symbolic sizes
    torch.compiler.reset()
    output_code = OutputCode()
    with attach_trace_handler(output_code):
        result = torch.compile(fn, **example.options)(*args)
        if example.backward:
            with contextlib.suppress(NoGradient):
                run_backward(result)
    return {"wrappers": output_code.texts}


class OutputCode(logging.Handler):
    """Collects the output code that Inductor writes into the structured trace."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "inductor_output_code" in getattr(record, "metadata", {}):
            self.texts.append(record.payload)  # type: ignore[attr-defined]


def make_call(example: Example, device: str) -> FunctionCall:
    """Return an example's function, and its arguments as leaf tensors on a device, so that both
    sides compute gradients of the same tensors, with the same strides and offsets.
    """
    import torch

    from tclab.capturing.target.inductor import map_tensors

    torch.manual_seed(0)
    fn, args = example.make()
    return fn, map_tensors(lambda tensor: copy_to(device, tensor), args)


def copy_to(device: str, tensor: Any) -> Any:
    """Return a copy of the tensor on a device: a leaf with the same storage, strides and offset."""
    import torch

    detached = tensor.detach()
    if tensor.layout is not torch.strided or type(tensor) is not torch.Tensor:
        copy = detached.to(device, copy=True)
    else:
        storage = (
            torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).to(device, copy=True)
        )
        copy = torch.empty(0, dtype=tensor.dtype, device=device)
        copy.set_(storage.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    return copy.requires_grad_(tensor.requires_grad)


def move_to_gpu(fn: Any) -> Any:
    """Move the modules and tensors that a function closes over to the GPU; return the function."""
    import torch

    if isinstance(fn, torch.nn.Module):
        return fn.to("cuda")
    for cell in getattr(fn, "__closure__", None) or ():
        value = cell.cell_contents
        if isinstance(value, torch.nn.Module):
            value.to("cuda")
        elif isinstance(value, torch.Tensor):
            cell.cell_contents = copy_to("cuda", value)
    return fn


if __name__ == "__main__":
    _, own_side, of_corpus, for_gpu, folder, *functions = sys.argv
    for function in functions:
        compile_and_save(function, of_corpus, own_side, for_gpu, Path(folder))
