"""Compile functions on one side: by plain ``torch.compile`` on the GPU, or for the target.

``python -m tclab.workshop.verify.sides SIDE CORPUS TARGET OUT NAME…`` compiles the functions NAME.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclab.workshop.catalog.example import Example
from tclab.workshop.verify.results import Result, Variant, result_path, save

if TYPE_CHECKING:
    from tclab.capturing.target.timing.variants import GraphAlternatives
    from tclab.capturing.target.timing.variants import Variant as TargetVariant


def compile_and_save(name: str, corpus: str, side: str, target: str, out: Path) -> None:
    """Compile one function on one side and save the result, or the reason why it failed."""
    from tclab.workshop.catalog import examples

    start = time.perf_counter()
    try:
        example = examples(corpus)[name]
        compiled = compile_on_gpu(example) if side == "gpu" else compile_for_target(example, target)
        result: Result = {**compiled, "status": "done"}
    except Exception as error:
        from tclab.targets import TargetError

        status = "refused" if isinstance(error, TargetError) else "failed"
        text = str(error) if status == "refused" else traceback.format_exc()[-4000:]
        result = {"status": status, "reason": text}
    result["seconds"] = round(time.perf_counter() - start, 2)
    save(result_path(out, side, name), result)


def compile_for_target(example: Example, target: str) -> Result:
    """Compile an example for a target without a GPU; return the output code and its variants."""
    import torch

    from tclab.capturing.target.capture import capture_for

    torch.manual_seed(0)
    fn, args = example.make()
    capture = capture_for(fn, target, [(args, {})], backward=example.backward,
                          options=example.options, assume={"pad": "both"})  # fmt: skip
    graphs = capture.outcome.alternatives
    return {
        "wrappers": list(capture.wrapper_code),
        "variants": [_make_variant(graph, each) for graph in graphs for each in graph.variants],
        "otherwise": [
            _make_variant(graph, graph.counterfactual) for graph in graphs if graph.counterfactual
        ],
        "products": sorted({q.key for graph in graphs for q in graph.untimed + graph.measured}),
        "gaps": [*map(str, capture.gaps), *(f"{o}, {line}" for o, line in capture.on_host)],
    }


def _make_variant(graph: GraphAlternatives, variant: TargetVariant) -> Variant:
    return {
        "questions": [str(q) for group in sorted(variant.flipped) for q in graph.groups[group]],
        "wrappers": list(variant.wrappers),
        "after": graph.graphs_before,
        "instead_of": graph.count,
    }


def compile_on_gpu(example: Example) -> Result:
    """Compile an example on this GPU as users do, by plain ``torch.compile``; return its code.

    tclab changes nothing here: it only reads the code from PyTorch's structured trace.
    """
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.capturing.target.inductor import map_tensors
    from tclab.capturing.torch_private.compiler import attach_trace_handler

    torch.manual_seed(0)
    fn, args = example.make()
    fn, args = move_to_gpu(fn), map_tensors(copy_to_gpu, args)
    torch.compiler.reset()  # else code that examples share would get symbolic sizes
    output_code = OutputCode()
    with attach_trace_handler(output_code):
        result = torch.compile(fn, **example.options)(*args)
        if example.backward:
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


def copy_to_gpu(tensor: Any) -> Any:
    """Return a copy of the tensor on the GPU: a leaf with the same strides."""
    import torch

    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
    copy.copy_(tensor.detach())
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
            cell.cell_contents = copy_to_gpu(value)
    return fn


if __name__ == "__main__":
    _, own_side, of_corpus, for_gpu, folder, *functions = sys.argv
    for function in functions:
        compile_and_save(function, of_corpus, own_side, for_gpu, Path(folder))
