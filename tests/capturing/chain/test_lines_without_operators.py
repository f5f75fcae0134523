"""A line of Python that computes nothing leads to no line of a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from link_following import Ways
from torch import fx

import tclab
from tclab.model import Chain
from tclab.workshop.catalog import examples

#: A file's name and the number of a line.
Line = tuple[str, int]
EXAMPLES = examples()
#: Three that read a shape, and some of each family that are no layer of PyTorch's alone.
NAMES = (
    *("products/causal_attention", "products/fused_attention_module", "pointwise/makes_tensors"),
    *("pointwise/relu_chain", "reductions/amax_argmax"),
)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_kernel_comes_from_has_an_operator(name: str) -> None:
    example = EXAMPLES[name]
    fn, args = example.make()
    with_operator = lines_with_operator(fn, args)
    request = tclab.capture(fn, target="h200", backward=example.backward, **example.options)
    chains = request.capture_calls([(args, {})], most_lines=0).chains()
    found = {line for chain in chains for line in lines_of_kernels(chain)}
    assert found and found <= with_operator, found - with_operator


def test_a_line_that_reads_a_shape_leads_to_its_bytecode_alone() -> None:
    fn, args = EXAMPLES["products/fused_attention_module"].make()
    chains = tclab.capture(fn, target="h200").capture_calls([(args, {})], most_lines=0).chains()
    ways = Ways(chains[0])
    reads = [
        (i, n)
        for i, pane in enumerate(chains[0].panes) if pane.stage == "python"
        for n, text in enumerate(pane.code.splitlines(), 1) if "= x.shape" in text
    ]  # fmt: skip
    assert len(reads) == 1
    assert ways.stages(ways.reach(reads[0], ways.down)) == {"bytecode"}


def lines_with_operator(fn: Callable[..., Any], args: tuple[Any, ...]) -> set[Line]:
    """Return the lines of the calls in Dynamo's graphs, as a backend of our own gets them."""
    stacks: list[str] = []

    def backend(graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        called = [node for node in graph.graph.nodes if node.op.startswith("call")]
        stacks.extend(node.stack_trace or "" for node in called)
        return graph.forward

    torch._dynamo.reset()
    torch.compile(fn, backend=backend)(*args)
    frames = re.findall(r'File "([^"]*)", line (\d+)', "".join(stacks))
    return {(file.rsplit("/", 1)[-1], int(line)) for file, line in frames}


def lines_of_kernels(chain: Chain) -> set[Line]:
    """Return the lines of Python that a chain's kernels come from."""
    ways = Ways(chain)
    kernels = {place for place in ways.up if chain.panes[place[0]].stage in ("kernel", "cpp")}
    above = set().union(*(ways.reach(place, ways.up) for place in kernels))
    panes = [(chain.panes[i], line) for i, line in above if chain.panes[i].stage == "python"]
    return {(p.filename.rsplit("/", 1)[-1], p.first_line + line - 1) for p, line in panes}
