"""One function on one side: compiled by plain ``torch.compile`` on the GPU, or for the target.

``python -m tclab.verify.sides SIDE CORPUS TARGET OUT NAME…`` is the process that does it.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclab.catalog.example import Example
from tclab.verify.results import Result, Variant, file, save

if TYPE_CHECKING:
    from tclab.capturing.target.timing.ways import GraphWays
    from tclab.capturing.target.timing.ways import Variant as Way


def work(name: str, corpus: str, side: str, target: str, out: Path) -> None:
    """Compile one function on one side and save what came of it."""
    from tclab.catalog import examples

    start = time.perf_counter()
    try:
        example = examples(corpus)[name]
        own = on_gpu(example) if side == "gpu" else for_target(example, target)
        result: Result = {**own, "status": "done"}
    except Exception as error:
        from tclab.targets import TargetError

        status = "refused" if isinstance(error, TargetError) else "failed"
        text = str(error) if status == "refused" else traceback.format_exc()[-4000:]
        result = {"status": status, "reason": text}
    result["seconds"] = round(time.perf_counter() - start, 2)
    save(file(out, side, name), result)


def for_target(example: Example, target: str) -> Result:
    """The output code the target gets, without a GPU; and what it may be instead, where the GPU
    would time something.
    """
    import torch

    from tclab.capturing.target.capture import capture_for

    torch.manual_seed(0)
    fn, args = example.make()
    capture = capture_for(fn, target, [(args, {})], backward=example.backward,
                          options=example.options)  # fmt: skip
    ways = capture.known.ways
    return {
        "wrappers": list(capture.wrapper_code),
        "variants": [_variant(graph, each) for graph in ways for each in graph.variants],
        "otherwise": [_variant(graph, graph.otherwise) for graph in ways if graph.otherwise],
        "products": sorted({q.key for graph in ways for q in graph.questions + graph.measured}),
        "gaps": [str(gap) for gap in capture.gaps],
    }


def _variant(graph: GraphWays, way: Way) -> Variant:
    return {
        "questions": [str(q) for group in sorted(way.flips) for q in graph.groups[group]],
        "wrappers": list(way.wrappers),
        "after": graph.after,
        "instead_of": graph.count,
    }


def on_gpu(example: Example) -> Result:
    """The output code of plain ``torch.compile`` on the GPU that is here, run as users run it.

    Nothing of tclab's is switched on: PyTorch's own trace is listened to, which holds the code.
    """
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.capturing.target.inductor import map_tensors
    from tclab.capturing.torch_private.compiler import trace_handler

    torch.manual_seed(0)
    fn, args = example.make()
    fn, args = moved(fn), map_tensors(to_gpu, args)
    torch.compiler.reset()  # makers share code, which would be compiled with symbolic sizes
    output_code = OutputCode()
    with trace_handler(output_code):
        result = torch.compile(fn, **example.options)(*args)
        if example.backward:
            run_backward(result)
    return {"wrappers": output_code.texts}


class OutputCode(logging.Handler):
    """Keeps the output code that Inductor writes into the structured trace."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "inductor_output_code" in getattr(record, "metadata", {}):
            self.texts.append(record.payload)  # type: ignore[attr-defined]


def to_gpu(tensor: Any) -> Any:
    """The tensor on the GPU: a leaf with the same strides."""
    import torch

    there = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
    there.copy_(tensor.detach())
    return there.requires_grad_(tensor.requires_grad)


def moved(fn: Any) -> Any:
    """The function with the modules and tensors it closes over on the GPU."""
    import torch

    if isinstance(fn, torch.nn.Module):
        return fn.to("cuda")
    for cell in getattr(fn, "__closure__", None) or ():
        value = cell.cell_contents
        if isinstance(value, torch.nn.Module):
            value.to("cuda")
        elif isinstance(value, torch.Tensor):
            cell.cell_contents = to_gpu(value)
    return fn


if __name__ == "__main__":
    _, own_side, of_corpus, for_gpu, folder, *functions = sys.argv
    for function in functions:
        work(function, of_corpus, own_side, for_gpu, Path(folder))
