"""Python values, call by call.

What happens when a number changes depends on where it comes from. An `int` argument becomes
a symbol at its second value. A `float` argument becomes a tensor input at its second value. A
string never does. An `int` attribute of a module does not either, and so each new value
compiles, until the limit.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab

x = torch.ones(4)


def scale(x, k):
    return x * k


class Scale(torch.nn.Module):
    k = 1

    def forward(self, x):
        return x * self.k


def choose(x, mode):
    return x.sin() if mode == "v2" else x.cos()


def count(fn, call, values):
    """Compiles after each value."""
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled, made = torch.compile(fn, backend=counter), []
    for value in values:
        call(compiled, value)
        made.append(counter.frame_count)
    return made


def set_and_call(module):
    def call(compiled, k):
        module.k = k
        torch.testing.assert_close(compiled(x), x * k)

    return call


def pass_it(compiled, k):
    compiled(x, k)


module = Scale()
made = {
    "int argument": count(scale, pass_it, range(3, 15)),
    "float argument": count(scale, pass_it, [n / 2 for n in range(3, 15)]),
    "string argument": count(choose, pass_it, [f"v{n}" for n in range(12)]),
    "module's int": count(module, set_and_call(module), range(3, 15)),
    "module's float": count(module, set_and_call(module), [n / 2 for n in range(3, 15)]),
    "module's tensor": count(
        module, set_and_call(module), [torch.tensor(n / 2) for n in range(3, 15)]
    ),
}
limit = torch._dynamo.config.recompile_limit
finally_ = {name: counts[-1] for name, counts in made.items()}
assert finally_["int argument"] == finally_["float argument"] == 2
assert finally_["module's int"] == finally_["string argument"] == limit
assert finally_["module's float"] == 2 and finally_["module's tensor"] == 1

tclab.show(
    tclab.Table(
        title="Compiles so far, after each of twelve values",
        columns=("where the value is", *(f"{n}." for n in range(1, 13))),
        rows=[(name, *counts) for name, counts in made.items()],
    ),
    name="values",
)
