"""What is not guarded: hooks added later.

Not everything that can change is checked. Guards cost time on every call, and PyTorch leaves
some out by default. A forward hook added to a module after its first compiled call is one:
the compiled code does not call it, and nothing is recompiled. Setting
`skip_nnmodule_hook_guards` to False before the first call brings the check back.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def hundredfold(module, args, output):
    return output * 100


def run(**config):
    """Graphs after each step, and whether the compiled module heeds the hook."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    x = torch.ones(4)
    counter = CompileCounter()
    with torch._dynamo.config.patch(**config):
        compiled = torch.compile(model, backend=counter)
        compiled(x)
        first = counter.frame_count
        model[0].register_forward_hook(hundredfold)
        heeded = torch.allclose(compiled(x), model(x))
    return first, counter.frame_count, heeded


ignored = run(skip_nnmodule_hook_guards=True)  # the default
guarded = run(skip_nnmodule_hook_guards=False)
assert torch._dynamo.config.skip_nnmodule_hook_guards is True
assert ignored == (1, 1, False)
assert guarded == (1, 2, True)

tclab.show(
    tclab.Table(
        title="A hook added after the first call",
        columns=("skip_nnmodule_hook_guards", "graphs before", "graphs after", "hook runs"),
        rows=[("True (default)", *ignored), ("False", *guarded)],
    ),
    name="hooks",
)
