"""Gradients of two backward passes added up in `.grad`, with CUDA graphs, held against eager.

Each step clears the gradient, then runs two small batches forward and backward. The gradient of
the second batch alone is in the table, too.
"""
# tclab: needs=cuda,triton

import torch
import torch.nn.functional as F

import tclab

STEPS, BATCHES = 5, [torch.full((4, 8), value, device="cuda") for value in (1.0, 3.0)]


def loss(weight, x):
    return F.linear(x, weight).relu().square().mean()


def gradient_of_each_step(loss, batches=BATCHES, *, own=False, mark=False, clone=False):
    """The sum of `.grad` after each step; or the error that a step ended with."""
    torch._dynamo.reset()
    weight = torch.nn.Parameter(torch.ones(8, 8, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    if own:  # memory of its own before the first backward pass, set to zero before each step
        weight.grad = torch.zeros_like(weight)
    sums = []
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=not own)
        try:
            for x in batches:
                if mark:
                    torch.compiler.cudagraph_mark_step_begin()
                loss(weight, x).backward()
                if clone:
                    weight.grad = weight.grad.clone()
            sums.append(weight.grad.sum().item())
        except RuntimeError as error:
            sums.append(str(error).splitlines()[0].split(". Stack trace")[0])
    return sums


with_graphs = torch.compile(loss, mode="reduce-overhead")
eager = gradient_of_each_step(loss)
second = gradient_of_each_step(loss, BATCHES[1:])
plain = gradient_of_each_step(torch.compile(loss))
new = gradient_of_each_step(with_graphs)
marked = gradient_of_each_step(with_graphs, mark=True)
cloned = gradient_of_each_step(with_graphs, clone=True)
own = gradient_of_each_step(with_graphs, own=True)

rows = {
    "eager": eager,
    "eager, the second batch alone": second,
    "compiled, no CUDA graphs": plain,
    "reduce-overhead": new,
    "reduce-overhead, each forward marked": marked,
    "reduce-overhead, .grad cloned after each backward": cloned,
    "reduce-overhead, .grad made before, then set to zero": own,
}
tclab.show(tclab.Table(
    title="The sum of the gradient after each of five steps", name="gradients",
    columns=("", *(f"step {n + 1}" for n in range(STEPS))),
    rows=[(name, *map(str, sums)) for name, sums in rows.items()],
))  # fmt: skip

# claim: without-graphs-as-eager
assert plain == eager, rows
# claim: an-error-in-the-first-step
assert "overwritten by a subsequent run" in str(new[0]), rows
# claim: twice-the-last-gradient-without-an-error
assert new[1:] == [2 * value for value in second[1:]] != eager[1:], rows
# claim: marks-do-not-mend-it
assert marked == new, rows
# claim: a-clone-mends-it
assert cloned == eager, rows
# claim: a-gradient-with-memory-of-its-own-mends-it
assert own == eager, rows
