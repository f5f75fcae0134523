"""Calls of compiled functions that raise, what each says, and a form that does not.

Each pair is a call that raises and the same with one thing changed. The changed one is compared
with eager.
"""

import torch
from torch.fx.experimental.proxy_tensor import make_fx

import tclab

x = torch.randn(3, 4)


@torch.library.custom_op("lab::bare", mutates_args=())
def bare(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("lab::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    return (x.t() * 2).contiguous().t()


@turned.register_fake
def _(x):
    return torch.empty_like(x)  # rows first: wrong, the operator returns columns first


def rows_above(x):
    n = (x > 0).sum().item()
    return x.new_ones(n) if n > 2 else x


def checked(x):
    n = (x > 0).sum().item()
    torch._check(n > 2)
    return x.new_ones(n) if n > 2 else x


def in_rows(x):
    return x.view(3, 4) @ x.t()


def scaled(x, by):
    return x * by


def curve(w):
    return w.sin().sum()


def marked(mark):
    given = x.clone()
    mark(given, 0)
    return torch.compile(in_rows)(given)


def twice(by):
    compiled = torch.compile(scaled)
    with torch._dynamo.config.patch(error_on_recompile=True):
        return [compiled(x, each) for each in by][-1]


def differentiated_twice(gradient):
    w = torch.ones(4, requires_grad=True)
    gradient(w).sum().backward()
    return w.grad


def outside(w):
    return torch.autograd.grad(torch.compile(curve)(w), w, create_graph=True)[0]


def fx_of(function):
    function(x)
    return make_fx(lambda x: function(x))(x)(x)


#: What it is: a call that raises, one that does not, what eager makes of it.
CALLS = {
    "shapes do not fit": (lambda: torch.compile(torch.mm)(x, x), None, None),
    "an operator without a fake": (
        lambda: torch.compile(lambda x: bare(x) @ x.t())(x),
        lambda: torch.compile(lambda x: bare(x) @ x.t())(x),
        lambda: bare(x) @ x.t(),
    ),
    "a fake with other strides": (
        lambda: torch.compile(lambda x: turned(x) @ x.t())(x),
        lambda: torch.compile(lambda x: turned(x) @ x.t())(x),
        lambda: turned(x) @ x.t(),
    ),
    "a branch on data": (
        lambda: torch.compile(rows_above, fullgraph=True)(x.abs()),
        lambda: torch.compile(checked, fullgraph=True)(x.abs()),
        lambda: rows_above(x.abs()),
    ),
    "a marked size that is fixed": (
        lambda: marked(torch._dynamo.mark_dynamic),
        lambda: marked(torch._dynamo.maybe_mark_dynamic),
        lambda: in_rows(x),
    ),
    "a recompile, forbidden": (
        lambda: twice([1.5, 2]),
        lambda: twice([torch.tensor(1.5), torch.tensor(2.0)]),
        lambda: scaled(x, 2),
    ),
    "a gradient of a gradient": (
        lambda: differentiated_twice(outside),
        lambda: differentiated_twice(torch.compile(torch.func.grad(curve))),
        lambda: -torch.ones(4).sin(),
    ),
    "a graph of what is compiled": (
        lambda: fx_of(torch.compile(in_rows)),
        lambda: fx_of(in_rows),
        lambda: in_rows(x),
    ),
}


#: The fakes that are registered between the two calls.
FAKES = {
    "an operator without a fake": (bare, torch.empty_like),
    "a fake with other strides": (turned, lambda x: torch.empty_like(x.t().contiguous()).t()),
}


def error_of(call):
    """The type and the message of what a call raises; None if it returns."""
    torch.compiler.reset()
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


raised, rows = {}, []
for name, (call, changed, eager) in CALLS.items():
    raised[name] = kind, message = error_of(call)
    if name in FAKES:
        operator, fake = FAKES[name]
        operator.register_fake(fake)
    torch.compiler.reset()
    same = changed and torch.allclose(changed(), eager())
    rows.append((name, kind, " ".join(message.split())[:140], "yes" if same else "none tried"))
columns = ("", "error", "message", "changed, it is eager's")
tclab.show(tclab.Table("What it raises", name="errors", columns=columns, rows=rows))
mended = {name for name, *_, same in rows if same == "yes"}


def says(name, kind, words):
    return raised[name][0] == kind and words in raised[name][1]


# claim: wrong-shapes-raise-in-dynamo
assert says("shapes do not fit", "TorchRuntimeError", "Dynamo failed to run FX node with fake")
# claim: and-in-eager-too
assert error_of(lambda: torch.mm(x, x))[0] == "RuntimeError"
# claim: without-a-fake-it-raises
assert says("an operator without a fake", "TorchRuntimeError", "no fake impl registered")
# claim: a-registered-fake-mends-it
assert "an operator without a fake" in mended
# claim: a-wrong-fake-raises-in-the-code
assert says("a fake with other strides", "AssertionError", "expected size 3==3, stride 1==4")
# claim: a-right-fake-mends-it
assert "a fake with other strides" in mended
# claim: a-branch-on-data-raises
assert says("a branch on data", "UserError", "Could not guard on data-dependent expression")
# claim: a-check-mends-it
assert "a branch on data" in mended
# claim: a-fixed-size-that-is-marked-raises
assert says("a marked size that is fixed", "ConstraintViolationError", "You marked")
# claim: maybe-mark-dynamic-mends-it
assert "a marked size that is fixed" in mended
# claim: a-forbidden-recompile-raises
assert says("a recompile, forbidden", "RecompileError", "guard failure")
# claim: a-tensor-mends-it
assert "a recompile, forbidden" in mended
# claim: double-backward-raises
assert says("a gradient of a gradient", "RuntimeError", "not currently support double backward")
# claim: the-first-gradient-inside-mends-it
assert "a gradient of a gradient" in mended
# claim: fx-over-compiled-raises
assert says("a graph of what is compiled", "RuntimeError", "using FX to symbolically trace")
# claim: the-function-itself-mends-it
assert "a graph of what is compiled" in mended
