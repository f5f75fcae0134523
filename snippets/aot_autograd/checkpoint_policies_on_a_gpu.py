"""Checkpoints, policies and budgets on a GPU: memory of a step and its time.

Twelve blocks of an MLP in bfloat16, compiled as one function. `held` is what lies on the GPU
between forward and backward beside weights and gradients, `peak` the most of a whole step beside
them. Times are medians of steps, by the device's events. Gradients are compared before anything
is timed.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=49152

import functools
import logging
import statistics

import torch
from torch._functorch import config
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import tclab

BLOCKS, ROWS, WIDTH = 12, 32768, 1024
PRODUCTS = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


def block(x, w1, w2):
    h = torch.nn.functional.gelu(torch.nn.functional.rms_norm(x, (WIDTH,)) @ w1)
    return x + h @ w2


def save_products(ctx, operation, *args, **kwargs):
    saves = operation in PRODUCTS
    return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE


def plain(x, *weights):
    for pair in zip(weights[::2], weights[1::2]):
        x = block(x, *pair)
    return x.float().square().mean()


def checkpointed(*policy, block=block):
    options = {}
    if policy:
        contexts = functools.partial(create_selective_checkpoint_contexts, *policy)
        options = {"context_fn": contexts}

    def fn(x, *weights):
        for pair in zip(weights[::2], weights[1::2]):
            x = checkpoint(block, x, *pair, use_reentrant=False, **options)
        return x.float().square().mean()

    return fn


def step(fn):
    """Bytes held before the backward."""
    for weight in weights:
        weight.grad = None
    loss = fn(x, *weights)
    held = torch.cuda.memory_allocated()
    loss.backward()
    return held


def measured(make, budget=1.0):
    """GiB held, GiB at the peak, ms of a step; how far the gradients are off."""
    torch._dynamo.reset()
    with config.patch(activation_memory_budget=budget):
        fn = make()
        step(fn)
    off = max(((w.grad - e).norm() / e.norm()).item() for w, e in zip(weights, exact))
    for weight in weights:
        weight.grad = None
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    held = step(fn) - before
    peak = torch.cuda.max_memory_allocated() - before
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step(fn)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return held / 2**30, peak / 2**30, statistics.median(times), off


logging.disable(logging.WARNING)
torch.manual_seed(0)
options = {"device": "cuda", "dtype": torch.bfloat16}
x = torch.randn(ROWS, WIDTH, **options)
shapes = ((WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)) * BLOCKS
weights = [(torch.randn(s, **options) / s[0] ** 0.5).requires_grad_() for s in shapes]
step(checkpointed())  # in eager mode, with the least memory
exact = [weight.grad.clone() for weight in weights]
compiled = torch.compile
rows = {
    "compiled": measured(lambda: compiled(plain)),
    "checkpoints inside": measured(lambda: compiled(checkpointed())),
    "inside, products saved": measured(lambda: compiled(checkpointed(save_products))),
    "around compiled blocks": measured(lambda: checkpointed(block=compiled(block))),
    "around, products saved": measured(lambda: checkpointed(save_products, block=compiled(block))),
    "budget 0.5": measured(lambda: compiled(plain), 0.5),
    "budget 0.1": measured(lambda: compiled(plain), 0.1),
}
tclab.show(
    tclab.Table(
        title="A step of twelve blocks",
        name="ways",
        columns=("way", "held", "peak", "a step", "gradients off by"),
        units=("", "GiB", "GiB", "ms", ""),
        formats=("", ".2f", ".2f", ".1f", ".1e"),
        rows=[(way, *row) for way, row in rows.items()],
    )
)
whole, inside, saving, around, around_saving, half, tenth = rows.values()

# claim: gradients-agree
assert max(row[3] for row in rows.values()) < 0.05
# claim: a-checkpoint-holds-least-and-takes-longest
assert inside[0] < 0.5 * whole[0] and inside[2] > 1.1 * whole[2]
# claim: saved-products-lie-between
assert inside[0] < saving[0] < whole[0] and saving[2] < inside[2]
# claim: around-the-policy-saves-nothing
assert around_saving[0] < 1.1 * around[0]
# claim: a-smaller-budget-holds-less
assert tenth[0] < half[0] < whole[0]
