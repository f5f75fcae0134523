"""What `torch.compile` returns, for a function and for a module.

A function gives another function, which knows the first. A module gives an `OptimizedModule` around
it: a module of another class, with the same parameters, under names that begin with `_orig_mod.`.
`module.compile()` returns nothing and makes no wrapper: it installs a compiled way to call the
module in the module itself. Nothing is compiled yet in any of these rows.
"""

import torch
from torch._dynamo.eval_frame import OptimizedModule
from torch._dynamo.testing import CompileCounter

import tclab


def gate(x):
    """A gate."""
    return torch.sigmoid(x) * x


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + torch.relu(self.lin(x))


counter = CompileCounter()
function = torch.compile(gate, backend=counter)
module = Block()
wrapped = torch.compile(module, backend=counter)
inside = Block()
returned = inside.compile(backend=counter)
off = torch.compile(gate, disable=True)
before = counter.frame_count

# claim: a-function-gives-a-function
assert function is not gate and type(function) is type(gate) and function.__wrapped__ is gate
# claim: with-its-name-and-docstring
assert (function.__name__, function.__doc__) == ("gate", "A gate.")
# claim: a-module-gives-an-optimized-module
assert type(wrapped) is OptimizedModule and wrapped._orig_mod is module
# claim: of-another-class
assert isinstance(wrapped, torch.nn.Module) and not isinstance(wrapped, Block)
# claim: with-the-same-parameters
assert [id(p) for p in wrapped.parameters()] == [id(p) for p in module.parameters()]
# claim: under-names-with-a-prefix
assert list(wrapped.state_dict()) == ["_orig_mod.lin.weight", "_orig_mod.lin.bias"]
# claim: the-method-returns-nothing
assert returned is None and type(inside) is Block
# claim: it-installs-a-compiled-call
assert inside._compiled_call_impl is not None and module._compiled_call_impl is None
# claim: and-leaves-the-names
assert list(inside.state_dict()) == ["lin.weight", "lin.bias"]
# claim: disable-gives-the-function-back
assert off is gate
# claim: nothing-is-compiled-yet
assert before == 0
wrapped.rate, modes = 0.5, []
for switch in (wrapped.eval, wrapped.train):
    switch()
    modes.append((wrapped.training, module.training, module.lin.training))
# claim: attributes-reach-the-module
assert module.rate == 0.5 and modes == [(False,) * 3, (True,) * 3]

columns = ("call", "returns", "is it the argument?", "names in the state dict")
rows = [
    ("torch.compile(gate)", type(function).__name__, function is gate, ""),
    ("torch.compile(gate, disable=True)", type(off).__name__, off is gate, ""),
    ("torch.compile(module)", type(wrapped).__name__, False, ", ".join(wrapped.state_dict())),
    ("module.compile()", str(returned), False, ", ".join(inside.state_dict())),
]
tclab.show(tclab.Table("What is returned", "returned", columns, rows))
