"""Saving and loading a compiled module.

The wrapper's names begin with `_orig_mod.`, so its checkpoint does not fit a module that is not
compiled, or the other way round. The module inside has the old names, and shares every tensor.
Loading into a module that was compiled before changes its weights, and compiles nothing anew.
"""

import io

import torch
from torch._dynamo.testing import CompileCounter

import tclab


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.lin(x))


def loads(state, into):
    """Whether a state dict fits."""
    try:
        into.load_state_dict(state)
    except RuntimeError as error:
        return str(error).split("\n")[1].strip()
    return "fits"


def through_a_file(thing):
    torch.save(thing, file := io.BytesIO())
    file.seek(0)
    return torch.load(file, weights_only=False)


module, inside = Net(), Net()
counter = CompileCounter()
wrapped = torch.compile(module, backend=counter)
inside.compile(backend=counter)
x = torch.randn(2, 4)
wrapped(x)

state = wrapped.state_dict()
without_the_prefix = {name.replace("_orig_mod.", ""): tensor for name, tensor in state.items()}
rows = [
    ("torch.compile(m)", "m", loads(wrapped.state_dict(), Net())),
    ("m", "torch.compile(m)", loads(Net().state_dict(), torch.compile(Net()))),
    ("the module inside, compiled._orig_mod", "m", loads(wrapped._orig_mod.state_dict(), Net())),
    ("torch.compile(m), the prefix cut", "m", loads(without_the_prefix, Net())),
    ("m after m.compile()", "m", loads(inside.state_dict(), Net())),
]
# claim: a-prefix-does-not-fit
assert rows[0][2] != "fits" and rows[1][2] != "fits"
# claim: the-module-inside-fits
assert rows[2][2] == "fits"
# claim: the-installed-one-fits
assert rows[4][2] == "fits"
# claim: the-prefix-can-be-cut
assert rows[3][2] == "fits"

made, other, third = counter.frame_count, Net(), Net()
module.load_state_dict(other.state_dict())
# claim: new-weights-are-used
assert torch.equal(wrapped(x), other(x))
module.load_state_dict(third.state_dict(), assign=True)
# claim: also-when-tensors-are-replaced
assert torch.equal(wrapped(x), third(x))
# claim: loading-compiles-nothing
assert counter.frame_count == made == 1
module.double()
# claim: another-dtype-compiles-again
assert torch.equal(wrapped(x.double()), module(x.double())) and counter.frame_count == 2

whole, again = through_a_file(wrapped), through_a_file(inside)
# claim: a-saved-wrapper-stays-a-wrapper
assert type(whole) is type(wrapped) and list(whole.state_dict())[0].startswith("_orig_mod.")
# claim: an-installed-compile-is-not-saved
assert type(again) is Net and again._compiled_call_impl is None

columns = ("state dict of", "loaded into", "result")
tclab.show(tclab.Table("Checkpoints", "checkpoints", columns, rows))
