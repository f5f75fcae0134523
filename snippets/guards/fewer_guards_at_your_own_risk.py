"""Guards left out with `guard_filter_fn`: how many go, and what the function then no longer sees.

The option is given to `torch.compile` and gets every guard of a compile; what it does not keep is
not checked. PyTorch has ready ones, whose names end in `unsafe`. Here one leaves out the guards on
modules; then a factor that a module holds is changed.
"""

import torch

import tclab


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.factor = torch.nn.Linear(8, 8), 2

    def forward(self, x):
        return self.layer(x) * self.factor


torch.manual_seed(0)
x = torch.randn(4, 8)
seen, rows = {}, []
FILTERS = {
    "none": None,
    "modules": torch.compiler.skip_guard_on_all_nn_modules_unsafe,
    "all but tensors": torch.compiler.keep_tensor_guards_unsafe,
}
for name, keep in FILTERS.items():
    torch._dynamo.reset()
    kept = []

    def counted(entries, keep=keep, kept=kept):
        flags = [bool(flag) for flag in keep(entries)] if keep else [True] * len(entries)
        kept.append((len(flags), sum(flags)))
        return flags

    model = Scaled()
    compiled = torch.compile(model, backend="eager", options={"guard_filter_fn": counted})
    torch.testing.assert_close(compiled(x), model(x))
    model.factor = 3
    right = torch.allclose(compiled(x), model(x))
    ((every, left), *more) = kept
    seen[name] = left, right
    rows.append((name, every, left, len(kept), "yes" if right else "no"))

# claim: fewer-are-left
assert seen["none"][0] > seen["modules"][0] > 0
# claim: with-all-guards-it-is-right
assert seen["none"][1]
# claim: without-them-the-change-is-not-seen
assert not seen["modules"][1] and not seen["all but tensors"][1]

columns = ("left out", "guards", "kept", "compiles", "right after a change")
tclab.show(tclab.Table("With a filter over the guards", "filtered", columns, rows))
