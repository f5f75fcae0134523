"""A symptom, one line of Python to ask, and what it answers.

Each line is asked of a small program that has the symptom.
"""
# tclab: needs=cxx

import torch
from torch import nn
from torch._dynamo.utils import compile_times

import tclab


def drop(x):
    return torch.dropout(x, 0.5, True)


def drop_channels(x):
    return torch.nn.functional.dropout2d(x, 0.5)


def chain(x):
    return (x * 1.1 + 0.3) * 1.7 - x


def same(fn, x, **options):
    """Whether compiled and eager agree bit for bit."""
    torch.manual_seed(0)
    expected = fn(x)
    torch.manual_seed(0)
    return torch.equal(torch.compile(fn, options=options)(x), expected)


def off(fn, x):
    """The norm of the error against float64."""
    return (fn(x).double() - chain(x.double())).norm().item()


model = nn.Linear(4, 4)
names_of_all = list(torch.compile(model).state_dict())
wrapped = names_of_all[0]
below = next(iter(torch.compile(model)._orig_mod.state_dict()))
x, low = torch.ones(64), torch.randn(4096).bfloat16()
drawn, drawn_again = same(drop, x), same(drop, x, fallback_random=True)
images = torch.ones(4, 8, 6, 6)
errors = off(chain, low), off(torch.compile(chain), low)
names, seconds = compile_times(repr="csv", aggregate=True)
phases = {name: float(total) for name, total in zip(names, seconds)}
inside = phases["fx_codegen_and_compile"] / phases["_compile.compile_inner"]

tclab.show(
    tclab.Table(
        title="What one line answers",
        name="answers",
        columns=("symptom", "line of Python", "answer"),
        rows=[
            ("Missing keys in a checkpoint", "next(iter(compiled.state_dict()))", wrapped),
            ("", "next(iter(compiled._orig_mod.state_dict()))", below),
            ("Other random numbers than eager", "torch.equal(compiled(x), f(x))", drawn),
            ("", 'the same, options={"fallback_random": True}', drawn_again),
            (
                "Other digits in bfloat16",
                "(f(x).double() - f(x.double())).norm()",
                f"{errors[0]:.4f}",
            ),
            ("", "(compiled(x).double() - f(x.double())).norm()", f"{errors[1]:.4f}"),
            (
                "The first call takes long",
                "torch._dynamo.utils.compile_times()",
                f"{inside:.0%} in Inductor",
            ),
        ],
    )
)

# claim: a-wrapper-adds-its-name
assert names_of_all == ["_orig_mod.weight", "_orig_mod.bias"] and below == "weight"
# claim: random-numbers-are-others
assert not drawn and drawn_again
# claim: of-a-dropout-of-channels-they-are-eagers
assert same(drop_channels, images)
# claim: compiled-is-nearer-to-float64
assert 0 < errors[1] < errors[0]
# claim: the-phases-are-kept
assert 0 < phases["fx_codegen_and_compile"] < phases["_compile.compile_inner"]
