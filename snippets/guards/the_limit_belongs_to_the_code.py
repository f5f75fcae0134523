"""The limit belongs to the code object, not to what you compiled.

Twelve modules of one class share one `forward`, and so one cache. If all are alike, one entry
serves them all. If each has its own number, each needs an entry: after eight the others run eager,
though each was compiled by a `torch.compile` of its own. The cure is a tensor, or
the option that lets such a number become a symbol. From PyTorch 2.13 on a `torch.compile` may also
ask for entries and a limit of its own.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


class Scale(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        if torch.compiler.is_compiling():  # True while Dynamo traces: baked into compiled code
            return x * self.k
        return x * self.k + 1000


def twelve(make, **options):
    """Entries, and how many of twelve compiled modules ran eager."""
    torch._dynamo.reset()
    modules = [torch.compile(make(n), backend="eager", **options) for n in range(12)]
    results = [module(torch.ones(1)).item() for module in modules]
    return len(_debug_get_cache_entry_list(Scale.forward.__code__)), sum(r >= 1000 for r in results)


limit = torch._dynamo.config.recompile_limit
alike = twelve(lambda n: Scale(3))
different = twelve(Scale)
tensors = twelve(lambda n: Scale(torch.tensor(n)))
with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True):
    symbols = twelve(lambda n: Scale(n + 2))

# claim: alike-share-one-entry
assert alike == (1, 0)
# claim: different-ones-meet-the-limit
assert different == (limit, 12 - limit)
# claim: a-tensor-is-no-difference
assert tensors == (1, 0)
# claim: a-symbol-serves-them-all
assert symbols == (2, 0)
if torch.__version__ >= torch.torch_version.TorchVersion("2.13"):
    # claim: unless-each-compile-has-its-own, torch >= 2.13
    assert twelve(Scale, isolate_recompiles=True)[1] == 0
    # claim: a-limit-of-ones-own, torch >= 2.13
    assert twelve(Scale, recompile_limit=3)[1] == 9

columns = ("twelve modules", "entries of Scale.forward", "modules that ran eager")
rows = [("all with the same number", *alike), ("each with its own number", *different),
        ("each with its own tensor", *tensors),
        ("own numbers, allow_unspec_int_on_nn_module", *symbols)]  # fmt: skip
tclab.show(tclab.Table("One class, twelve instances", "instances", columns, rows))
