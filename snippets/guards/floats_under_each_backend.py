"""What becomes of a float depends on the backend and on the use.

Dynamo itself gives a float an input of its own at the second value, whatever it is used for. A
backend that goes on to AOTAutograd, as Inductor does, can keep that input only where the float is
part of tensor arithmetic: `x * k`. As an option of an operator, such as `x ** k`, it must be a
number. Then it is made constant again, and each value costs an entry. From PyTorch 2.15 on,
Inductor takes `x.clamp(max=k)` apart early enough for it to stay an input.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab

x = torch.tensor([1.0, 2.0, 3.0, 4.0])


def times(x, k):
    return x * k


def clamp(x, k):
    return x.clamp(max=k)


def power(x, k):
    return x**k


def entries(fn, backend, values):
    """Entries after each value."""
    torch._dynamo.reset()
    compiled, made = torch.compile(fn, backend=backend), []
    for n in range(values):
        k = n / 2 + 0.25
        torch.testing.assert_close(compiled(x, k), fn(x, k))
        made.append(len(_debug_get_cache_entry_list(fn.__code__)))
    return made + [None] * (12 - values)


rows = [
    (use, backend, *entries(fn, backend, values))
    for backend, values in (("eager", 12), ("aot_eager", 12), ("inductor", 4))
    for use, fn in (("x * k", times), ("x.clamp(max=k)", clamp), ("x ** k", power))
]
limit = torch._dynamo.config.recompile_limit
made = {row[:2]: list(row[2:]) for row in rows}
each = [min(n, limit) for n in range(1, 13)]
three = ("eager", "aot_eager", "inductor")
# claim: arithmetic-needs-two-everywhere
assert all(made["x * k", backend][:4] == [1, 2, 2, 2] for backend in three)
# claim: dynamo-alone-needs-two-always
assert made["x.clamp(max=k)", "eager"] == made["x ** k", "eager"] == [1] + [2] * 11
# claim: an-option-compiles-each-value
assert made["x ** k", "inductor"][:4] == [1, 2, 3, 4]
# claim: a-clamp-does-before-inductor
assert made["x.clamp(max=k)", "aot_eager"][:4] == [1, 2, 3, 4]
if torch.__version__ < torch.torch_version.TorchVersion("2.15"):
    # claim: a-clamp-does-too, torch < 2.15
    assert made["x.clamp(max=k)", "inductor"][:4] == [1, 2, 3, 4]
else:
    # claim: a-clamp-stays-an-input, torch >= 2.15
    assert made["x.clamp(max=k)", "inductor"][:4] == [1, 2, 2, 2]
# claim: until-the-limit
assert made["x.clamp(max=k)", "aot_eager"] == made["x ** k", "aot_eager"] == each

columns = ("use", "backend", *(f"{n}." for n in range(1, 13)))
tclab.show(tclab.Table("Entries after each value of a float", "entries", columns, rows,
                       caption="Inductor was given four values."))  # fmt: skip
