"""Lab 4: count the bytes a kernel moves, enable a fusion, find a line in machine code."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tclab.site.labs.exercise import Answer, Exercise, RandomInputs, compile_function

if TYPE_CHECKING:
    from tclab import Capture

# --------------------------------------------------------------------------- bytes_moved

bytes_moved = Exercise("bytes_moved", "How many bytes a fused kernel moves")

_GATE = "def f(x, bias):\n    return torch.nn.functional.gelu(x + bias) * x"


@functools.lru_cache(maxsize=8)
def _elements(rows: int, columns: int) -> tuple[int, int]:
    """Return the numbers of elements read and written: (by one fused kernel, by one kernel for each
    operation).
    """
    import torch

    import tclab

    inputs = torch.ones(rows, columns), torch.ones(columns)
    (graph,) = tclab.capture(compile_function(_GATE, "f"), backend="aot_eager")(*inputs).forward
    size = {node.name: _product(node.shape) for node in graph.nodes}
    calls = [node for node in graph.nodes if node.op.startswith("call_")]
    ends = sum(size[node.name] for node in graph.nodes if node.op == "placeholder")
    apart = sum(size[node.name] + sum(size[name] for name in set(node.inputs)) for node in calls)
    return ends + size[calls[-1].name], apart


def _product(shape: tuple[str, ...] | None) -> int:
    return functools.reduce(lambda a, b: a * int(b), shape or (), 1)


def _draw_sizes(random_inputs: RandomInputs) -> tuple[int, int]:
    return random_inputs.integer(20, 60), random_inputs.integer(70, 99)


@bytes_moved.step(
    "bytes",
    "counts bytes, not elements",
    "How many bytes does an element of float32 have, how many of bfloat16?",
    "Multiply the number of elements by itemsize.",
)
def counts_bytes(answer: Answer, random_inputs: RandomInputs) -> None:
    rows, columns = _draw_sizes(random_inputs)
    one, four = (answer(rows, columns, size, True) for size in (1, 4))
    assert four == 4 * one > 0, f"itemsize 1: {one}, itemsize 4: {four}"


@bytes_moved.step(
    "write",
    "counts what is written",
    "The kernel reads x and bias. What else goes to memory?",
    "The result has as many elements as x, and is written once.",
)
def counts_the_result(answer: Answer, random_inputs: RandomInputs) -> None:
    rows, columns = _draw_sizes(random_inputs)
    fused = _elements(rows, columns)[0]
    result = answer(rows, columns, 1, True)
    assert result > fused - rows * columns, f"it said {result}: the result is not in it"


@bytes_moved.step(
    "read-once",
    "counts x once, though it is used twice",
    "The fused kernel uses x in two places. How often does it load it?",
    "What was loaded stays in a register: look for tl.load in the kernel.",
)
def counts_x_once(answer: Answer, random_inputs: RandomInputs) -> None:
    rows, columns = _draw_sizes(random_inputs)
    fused = _elements(rows, columns)[0]
    result = answer(rows, columns, 1, True)
    assert result < fused + rows * columns - columns, (
        f"it said {result}: x or bias is too often in it"
    )


@bytes_moved.step(
    "bias",
    "counts the bias with its own size",
    "How many elements does bias have?",
    "bias has one element a column; all rows read the same, which stays in the cache.",
)
def counts_the_bias(answer: Answer, random_inputs: RandomInputs) -> None:
    rows, columns = _draw_sizes(random_inputs)
    fused = _elements(rows, columns)[0]
    result = answer(rows, columns, 1, True)
    assert result == fused, f"it said {result}; x, bias and the result have {fused} elements"


@bytes_moved.step(
    "unfused",
    "counts what three kernels move",
    "Without fusion, where does x + bias go before gelu reads it?",
    "Each of the three operations reads its inputs and writes its result: 3 + 2 + 2 times, and "
    "bias.",
)
def counts_three_kernels(answer: Answer, random_inputs: RandomInputs) -> None:
    rows, columns = _draw_sizes(random_inputs)
    apart = _elements(rows, columns)[1]
    result = answer(rows, columns, 4, False)
    assert result == 4 * apart, f"three kernels move {4 * apart} bytes, and it said {result}"


# --------------------------------------------------------------------------- scaled

scaled = Exercise("scaled", "A fusion that appears", frozenset({"triton"}))


def _scaled_relu(x: Any, scale: Any, bias: Any) -> Any:
    import torch

    return torch.relu(x @ torch.diag(scale) + bias)


def _is_close(answer: Answer, random_inputs: RandomInputs, rows: int, columns: int) -> bool:
    import torch

    inputs = (
        random_inputs.tensor(rows, columns),
        random_inputs.tensor(columns),
        random_inputs.tensor(columns),
    )
    result, true = answer(*inputs), _scaled_relu(*inputs)
    return bool(result.shape == true.shape and torch.allclose(result, true, rtol=1e-4, atol=1e-5))


@scaled.step(
    "columns",
    "scales the columns",
    "`x @ diag(scale)`: which entries of x does scale[0] multiply?",
    "Column j is multiplied by scale[j]; a (columns,) tensor broadcasts along the rows by itself.",
)
def scales_the_columns(answer: Answer, random_inputs: RandomInputs) -> None:
    import torch

    x, scale = random_inputs.tensor(6, 6).abs(), random_inputs.tensor(6).abs()
    result = answer(x, scale, torch.zeros(6))
    close = result.shape == x.shape and torch.allclose(result, x * scale, rtol=1e-4, atol=1e-5)
    assert close, "another result for a square x, no bias and nothing negative"


@scaled.step(
    "result",
    "gives the same results",
    "Is every operation of the original still there?",
    "Product, bias, relu: only the product may change its form.",
)
def keeps_the_operations(answer: Answer, random_inputs: RandomInputs) -> None:
    for shape in ((6, 6), (5, 9)):
        assert _is_close(answer, random_inputs, *shape), "another result"


@functools.lru_cache(maxsize=2)
def _capture_for_h200(answer: Answer) -> Capture:
    import torch

    import tclab

    return tclab.capture(answer, target="h200")(torch.ones(64, 96), torch.ones(96), torch.ones(96))


@scaled.step(
    "library",
    "calls no library",
    "A product with a diagonal matrix: how many of its multiplications are not by zero?",
    "A matrix product goes to a library, and nothing fuses with it. Multiply element by element.",
)
def calls_no_library(answer: Answer, random_inputs: RandomInputs) -> None:
    called = [k.kernel_name for k in _capture_for_h200(answer).kernels if k.category == "extern"]
    assert not called, f"for an H200 it calls {', '.join(called)}"


@scaled.step(
    "one-kernel",
    "is one kernel",
    "What stands between the operations, that they are not fused?",
    "One graph, element by element, no copies in between: then the scheduler has nothing to split.",
)
def is_one_kernel(answer: Answer, random_inputs: RandomInputs) -> None:
    names = [kernel.kernel_name for kernel in _capture_for_h200(answer).kernels]
    assert len(names) == 1, f"for an H200 it has {len(names)} kernels: {', '.join(names)}"


# --------------------------------------------------------------------------- opcodes_of

opcodes_of = Exercise("opcodes_of", "A line of Python in the machine code", frozenset({"triton"}))

_LINES = """
def f(x, bias):
    factor = 0.5
    shifted = x + bias * factor
    grown = torch.exp(shifted)
    return torch.rsqrt(grown + 2.0)
"""


@functools.lru_cache(maxsize=1)
def _capture_lines() -> Capture:
    import torch

    import tclab

    return tclab.capture(compile_function(_LINES, "f"), target="h200")(
        torch.ones(256, 96), torch.ones(96)
    )


def _opcodes(answer: Answer, line: str) -> set[str]:
    result = answer(_capture_lines(), line)
    assert not isinstance(result, str), f"it returned {result!r}, not a set of opcodes"
    return {str(opcode).split(".")[0] for opcode in result}


@opcodes_of.step(
    "found",
    "finds the instruction that a line became",
    "Which pane of the chain is the machine code? What do its lines link to?",
    "Go through the lines of the pane whose stage is 'sass', and keep those whose python_lines "
    "hold the line's number.",
)
def finds_exp(answer: Answer, random_inputs: RandomInputs) -> None:
    result = _opcodes(answer, "grown = torch.exp(shifted)")
    assert "MUFU" in result, f"exp becomes MUFU.EX2, and it said {sorted(result)}"


@opcodes_of.step(
    "others",
    "gives no instruction of other lines alone",
    "Does your set hold what the whole kernel holds?",
    "Keep an instruction only if it came from this line: MUFU is of exp and rsqrt, not of the "
    "addition.",
)
def leaves_other_lines_out(answer: Answer, random_inputs: RandomInputs) -> None:
    result = _opcodes(answer, "shifted = x + bias * factor")
    assert "MUFU" not in result, "MUFU is not from the addition"
    assert result & {"FADD", "FFMA"}, f"the addition is missing in {sorted(result)}"


@opcodes_of.step(
    "none",
    "gives none for a line that became no code",
    "What became of `factor = 0.5`?",
    "A Python number is folded into the operations that use it. No instruction came from that "
    "line.",
)
def finds_no_opcode_for_a_number(answer: Answer, random_inputs: RandomInputs) -> None:
    result = _opcodes(answer, "factor = 0.5")
    assert not result, f"no instruction came from factor = 0.5, and it said {sorted(result)}"


@opcodes_of.step(
    "store",
    "finds the last line, too",
    "Which line is the result stored by?",
    "Compare whole lines of the python pane, each stripped; several lines may call one function.",
)
def finds_the_store(answer: Answer, random_inputs: RandomInputs) -> None:
    result = _opcodes(answer, "return torch.rsqrt(grown + 2.0)")
    assert "MUFU" in result, f"rsqrt becomes MUFU.RSQ, and it said {sorted(result)}"
    assert "LDG" not in result, "the loads are not from the last line"
    assert "STG" in result, f"the result is stored by the last line, and it said {sorted(result)}"


EXERCISES = [bytes_moved, scaled, opcodes_of]
