"""Python values, call by call.

What happens when a number changes depends on where it comes from and what it is used for. This is
Dynamo's part, with a backend that compiles nothing. An `int` or `float` argument becomes an input
at its second value. An `int` that drives a loop does not: the loop is unrolled, so each count is
another graph. A string never does, nor does an `int` attribute of a module: each new value
compiles, until the limit.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab

x = torch.ones(4)


def scale(x, k):
    return x * k


def repeat(x, times):
    for _ in range(times):
        x = x + 1
    return x


def choose(x, mode):
    return x.sin() if mode == "v2" else x.cos()


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * self.k


def count(fn, values, attribute=False):
    """Compiles after each value, given as an argument or written into the module."""
    torch._dynamo.reset()
    counter, made = CompileCounter(), []
    compiled = torch.compile(fn, backend=counter)
    for value in values:
        if attribute:
            fn.k = value
        args = (x,) if attribute else (x, value)
        torch.testing.assert_close(compiled(*args), fn(*args))
        made.append(counter.frame_count)
    return made


ints, floats = range(3, 15), [n / 2 for n in range(3, 15)]
tensors, names = [torch.tensor(n / 2) for n in ints], [f"v{n}" for n in ints]
limit = torch._dynamo.config.recompile_limit
rows = {
    "int argument": count(scale, ints),
    "int argument, range(times)": count(repeat, ints),
    "float argument": count(scale, floats),
    "string argument": count(choose, names),
    "module's int": count(Scale(), ints, attribute=True),
    "module's float": count(Scale(), floats, attribute=True),
    "module's tensor": count(Scale(), tensors, attribute=True),
}
with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True):
    rows["module's int, as the option allows"] = count(Scale(), ints, attribute=True)
static_symbolic_hits, each_until_the_limit = [1] + [2] * 11, [min(n, limit) for n in range(1, 13)]
# claim: an-int-becomes-a-symbol
assert rows["int argument"] == static_symbolic_hits
# claim: a-count-does-not
assert rows["int argument, range(times)"] == each_until_the_limit
# claim: a-float-becomes-an-input-for-dynamo
assert rows["float argument"] == rows["module's float"] == static_symbolic_hits
# claim: a-string-never-does
assert rows["string argument"] == each_until_the_limit
# claim: a-modules-int-never-does
assert rows["module's int"] == each_until_the_limit
# claim: unless-an-option-allows-it
assert rows["module's int, as the option allows"] == static_symbolic_hits
# claim: a-modules-tensor-compiles-once
assert rows["module's tensor"] == [1] * 12

columns = ("where the value is", *(f"{n}." for n in range(1, 13)))
table = [(name, *counts) for name, counts in rows.items()]
tclab.show(tclab.Table("Compiles so far, after each of twelve values", "values", columns, table))
