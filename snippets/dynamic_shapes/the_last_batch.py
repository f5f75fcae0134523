"""The last batch of an epoch, in four ways.

A hundred samples in batches of 32 leave a rest of four, 97 leave one. Two epochs each; a cell says
in which step, counted from 1, something was compiled. A padded batch has rows of zeros, and weights
that leave them out of the loss. All losses and gradients are compared with eager's.
"""

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils.data import DataLoader

import tclab


def loss(x, w, weights):
    """The mean over the samples that count."""
    return ((x @ w).tanh().square().sum(-1) * weights).sum() / weights.sum()


def padded(x, weights):
    missing = 32 - len(x)
    return torch.cat([x, x.new_zeros(missing, 8)]), torch.cat([weights, torch.zeros(missing)])


def gradient(fn, x, weights):
    w = start.clone().requires_grad_()
    value = fn(x, w, weights)
    return value, torch.autograd.grad(value, w)[0]


def compiled_in(samples, drop=False, pad=False, warm=()):
    """The steps of two epochs in which something was compiled."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    fn = torch.compile(loss, backend=counter)
    for size in warm:
        gradient(fn, torch.ones(size, 8), torch.ones(size))
    loader = DataLoader(torch.randn(samples, 8), batch_size=32, drop_last=drop)
    steps, step = [], 0
    for _ in range(2):
        for x in loader:
            step, before = step + 1, counter.frame_count
            batch = x, torch.ones(len(x))
            found = gradient(fn, *(padded(*batch) if pad else batch))
            torch.testing.assert_close(found, gradient(loss, *batch))
            if counter.frame_count > before:
                steps.append(step)
    return steps


torch.manual_seed(0)
start = torch.randn(8, 8)
WAYS = {
    "as it comes": {},
    "dropped": {"drop": True},
    "padded": {"pad": True},
    "warmed up with both sizes": {"warm": (32, 4)},
    "warmed up with all three": {"warm": (32, 4, 1)},
}
found = {way: [compiled_in(n, **options) for n in (100, 97)] for way, options in WAYS.items()}
text = {way: [", ".join(map(str, steps)) or "none" for steps in row] for way, row in found.items()}
rows = [(way, *cells) for way, cells in text.items()]
columns = ("the last batch is", "a rest of four", "a rest of one")
tclab.show(tclab.Table("Steps that compile, of eight", "steps", columns, rows))

# claim: it-compiles-at-the-rest
assert found["as it comes"] == [[1, 4], [1, 4]]
# claim: dropped-or-padded-once
assert found["dropped"] == found["padded"] == [[1], [1]]
# claim: warmed-up-never
assert found["warmed up with both sizes"][0] == [] == found["warmed up with all three"][1]
# claim: one-wants-its-own-warm-up
assert found["warmed up with both sizes"][1] == [4]
