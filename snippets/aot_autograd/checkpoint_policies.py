"""Checkpointing with a policy: inside the compiled function, and around a compiled block.

Two blocks, each a checkpoint. A policy answers for each operation whether its result is saved.
*Inside*, the checkpoints are part of one compiled function. *Around*, each checkpoint calls a
compiled block. Held is what the allocator has at the border of forward and backward, less the
result. *Seen* is how many kinds of operations the policy was asked about.
"""
# tclab: needs=cxx timeout=240

import functools

import torch
from _saved import activations, saved
from torch._functorch import config
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import tclab

MUST, PREFER = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE
AGAIN = CheckpointPolicy.PREFER_RECOMPUTE
PRODUCT = torch.ops.aten.mm.default
asked = set()


def block(x, w1, w2):
    h = torch.nn.functional.gelu(x @ w1)
    return torch.sin(h @ w2) * torch.exp(-x.square())


def chain(block, policy=None):
    """Both blocks, each in a checkpoint; without a policy all is made again."""

    def decide(ctx, operation, *args, **kwargs):
        asked.add(str(operation))
        return policy(operation)

    contexts = functools.partial(create_selective_checkpoint_contexts, decide)
    options = {"context_fn": contexts} if policy else {}

    def fn(x, *weights):
        for pair in zip(weights[::2], weights[1::2]):
            x = checkpoint(block, x, *pair, use_reentrant=False, **options)
        return x

    return fn


def plain(x, *weights):
    for pair in zip(weights[::2], weights[1::2]):
        x = block(x, *pair)
    return x


def must_save_products(operation):
    return MUST if operation == PRODUCT else AGAIN


def must_save_the_rest(operation):
    return AGAIN if operation == PRODUCT else MUST


def prefer_the_rest(operation):
    return AGAIN if operation == PRODUCT else PREFER


def must_save_all(operation):
    return MUST


def held(fn):
    """KiB at the border, less the result; kinds of operations the policy saw. Or the error."""
    asked.clear()
    kept, found = [], []

    def backward():
        found.append(torch.autograd.grad(kept.pop().sum(), inputs))

    phases = {"forward": lambda: kept.append(fn(x, *weights)), "backward": backward}
    try:
        for phase in phases.values():  # compile first
            phase()
        border = tclab.memory({"step": phases})["step"].after("forward") - x.nbytes
    except RuntimeError as error:
        return str(error).split(".")[0], len(asked)
    torch.testing.assert_close(found[-1], exact, rtol=1e-3, atol=1e-4)
    return border / 1024, len(asked)


def compiled(fn, backend="inductor"):
    torch._dynamo.reset()
    return torch.compile(fn, backend=backend)


def products(fn):
    """Products in the backward graph."""
    nodes = tclab.capture(fn, backend="aot_eager", backward=True)(x, *weights).backward[0].nodes
    return sum("aten.mm." in node.target for node in nodes)


torch.manual_seed(0)
x = (torch.randn(256, 128) / 8).requires_grad_()
weights = [(torch.randn(s) / 12).requires_grad_() for s in ((128, 256), (256, 128)) * 2]
inputs = [x, *weights]
exact = torch.autograd.grad(plain(*inputs).sum(), inputs)
POLICIES = (None, must_save_products, must_save_the_rest, prefer_the_rest, must_save_all)
WHERE = {
    "eager": lambda policy: chain(block, policy),
    "inside": lambda policy: compiled(chain(block, policy)),
    "around": lambda policy: chain(compiled(block), policy),
}
AROUND = (None, must_save_products, must_save_all)
found = {
    policy: {
        w: held(make(policy)) for w, make in WHERE.items() if w != "around" or policy in AROUND
    }
    for policy in POLICIES
}
BUDGETS = (1.0, 0.5, 0.25, 0.0)
BY_BUDGET = {}
for number in BUDGETS:
    with config.patch(activation_memory_budget=number):
        row = []
        for fn in (plain, chain(block, must_save_products)):
            storages, _ = saved(compiled(fn, "aot_eager"), *inputs)
            torch._dynamo.reset()
            row += [activations(storages, *inputs) / 1024, products(fn)]
        BY_BUDGET[number] = row
names = {None: "none: all again"} | {fn: fn.__name__.replace("_", " ") for fn in POLICIES[1:]}
rows = []
for policy, row in found.items():
    sizes, counts = zip(*(row.get(where, (None, None)) for where in WHERE))
    sizes = [f"{size:,.0f}" if isinstance(size, float) else size for size in sizes]
    rows.append((names[policy], *sizes, *counts[1:]))
columns = ("policy", "eager", "inside", "around", "seen inside", "seen around")
tclab.show(tclab.Table("Held at the border", "held", columns, rows, ("", "KiB", "KiB", "KiB")))
columns = (
    "budget",
    "plain",
    "products in its backward",
    "policy inside",
    "products in that backward",
)
rows = [(str(number), *row) for number, row in BY_BUDGET.items()]
units, formats = ("", "KiB", "", "KiB", ""), ("", ",.0f", "", ",.0f", "")
tclab.show(tclab.Table("The same by a budget", "budget", columns, rows, units, formats))
kib = {names[p]: {where: cell[0] for where, cell in row.items()} for p, row in found.items()}
none, must, rest, prefer, everything = kib.values()

# claim: inside-a-policy-decides
assert none["inside"] < must["inside"] < rest["inside"] < everything["inside"]
# claim: a-preference-is-left-to-the-partitioner
assert prefer["inside"] < rest["inside"]
# claim: inside-it-holds-less-than-eager
assert all(row["inside"] <= row["eager"] for row in kib.values())
assert everything["inside"] < everything["eager"]
# claim: around-inductors-call-it-sees-the-products-alone
assert found[must_save_products]["around"][1] == 1 < found[must_save_products]["inside"][1]
# claim: and-saves-nothing
assert must["around"] == none["around"]
# claim: or-is-an-error
assert "mutated" in everything["around"]
# claim: a-checkpoint-without-a-policy-is-the-same-around
assert abs(none["around"] - none["inside"]) < 0.1 * none["inside"] + 16
# claim: zero-overrules-must-save
assert BY_BUDGET[0.0][2] == 0 < BY_BUDGET[1.0][2] and BY_BUDGET[0.0][3] > BY_BUDGET[1.0][3]
# claim: between-the-policy-stands
assert BY_BUDGET[0.5][2:] == BY_BUDGET[0.25][2:] == BY_BUDGET[1.0][2:]
# claim: the-budget-alone-steps-down
assert BY_BUDGET[1.0][0] > BY_BUDGET[0.5][0] > BY_BUDGET[0.25][0] > BY_BUDGET[0.0][0]
