"""One step of AdamW, four ways: operations dispatched, kernels written.

Eight small parameters. A loop over parameters launches each operation for each of them; `foreach`
takes lists; `fused` calls a library's kernel; the compiled step is what Inductor made of it.
"""
# tclab: timeout=180

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import tclab

N = 8


class Counted(TorchDispatchMode):
    """Counts operations that reach a device; views do not."""

    operations = 0

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        self.operations += not fn.is_view
        return fn(*args, **(kwargs or {}))


def parameters():
    torch.manual_seed(0)
    leaves = [torch.randn(64, 64, requires_grad=True) for _ in range(N)]
    for leaf in leaves:
        leaf.grad = torch.randn(64, 64)
    return leaves


def eager(**how):
    """Operations of the second step, and the parameters after it."""
    leaves = parameters()
    optimizer = torch.optim.AdamW(leaves, **how)
    optimizer.step()
    with Counted() as mode:
        optimizer.step()
    return mode.operations, leaves


def compiled(**how):
    """Kernels of the compiled step, graphs, and the parameters after two steps."""
    leaves = parameters()
    optimizer = torch.optim.AdamW(leaves, **how)
    optimizer.step()
    step = torch.compile(optimizer.step)
    with tclab.capture() as c:
        step()
    return len(c.kernels), leaves, len(c.graphs)


def refuses_a_tensor(**how):
    """Whether the optimizer wants a number for the learning rate."""
    try:
        torch.optim.AdamW(parameters(), lr=torch.tensor(0.001), **how)
    except ValueError:
        return True
    return False


WAYS = {"a loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
counts = {name: eager(**how) for name, how in WAYS.items()}
kernels, leaves, graphs = compiled(foreach=True)
counts["compiled, foreach"] = kernels, leaves
reference = counts["a loop"][1]
off = {
    name: max((a - b).abs().max().item() for a, b in zip(after, reference))
    for name, (_, after) in counts.items()
}
tclab.show(
    tclab.Table(
        title=f"AdamW on {N} parameters",
        name="ways",
        columns=("step", "operations or kernels", "off from the loop"),
        formats=("", "d", ".1e"),
        rows=[(name, number, off[name]) for name, (number, _) in counts.items()],
    )
)
number = {name: count for name, (count, _) in counts.items()}

# claim: a-loop-launches-for-each-parameter
assert number["a loop"] >= 8 * N
# claim: foreach-takes-lists
assert number["foreach"] < number["a loop"] / 2
# claim: fused-is-a-few
assert number["fused"] < number["foreach"] / 4
# claim: the-compiled-step-is-one-graph
assert graphs == 1
# claim: with-no-more-kernels-than-fused
assert number["compiled, foreach"] <= number["fused"]
# claim: all-end-at-the-same-weights
assert graphs == 1 and kernels and max(off.values()) < 1e-5
# claim: foreach-without-capturable-refuses-a-tensor
assert refuses_a_tensor(foreach=True)
assert not (refuses_a_tensor() or refuses_a_tensor(foreach=True, capturable=True))
