"""PyTorch's own overrides of its operators, `torch._native`, in a compiled call.

Each function has one operator for which a kernel that returns zeros is registered, on a CPU, as
PyTorch registers those of its own. A call that gives zeros went through it.
"""
# tclab: needs=cxx

import importlib.util
import warnings

import torch

import tclab

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
HAS_THEM = importlib.util.find_spec("torch._native") is not None
# claim: from-2-12-on
assert (VERSION >= (2, 12)) == HAS_THEM


def product(x):
    return torch.bmm(x, x)


def tangent(x):
    return torch.tanh(x)


def running(x):
    return torch.logcumsumexp(x, 0)


OPERATORS = {product: "bmm", tangent: "tanh", running: "logcumsumexp"}
x = torch.rand(2, 4, 4) + 1


def override(operator):
    from torch._native import registry

    args = ("triton", "aten", operator, "CPU", lambda *args: True, lambda *args: x * 0)
    registry.register_op_override(*args, allow_multiple_override=True)
    key = next(key for key in registry._graphs if key[-2:] == (operator, "CPU"))
    registry._register_overrides_from_graph(*key, registry._graphs[key])


def zeros(fn, backend=None):
    """Whether a call went through the override; compiled with a backend, if one is named."""
    torch._dynamo.reset()
    call = torch.compile(fn, backend=backend, fullgraph=True) if backend else fn
    return bool((call(x) == 0).all())


BACKENDS = (None, "eager", "inductor")
before = {zeros(fn, backend) for fn in OPERATORS for backend in BACKENDS}
rows, languages, own, built = [], [], {}, False
if VERSION >= (2, 13):
    import torch.backends.python_native as native

    languages, built = native.all_dsls, torch.backends.cuda.is_built()
    warnings.simplefilter("ignore")
    own = {language: native.get_dsl_operations(language) for language in languages}
    for operator in OPERATORS.values():
        override(operator)
    rows = [(fn.__name__, *(zeros(fn, way) for way in BACKENDS)) for fn in OPERATORS]
    ways = ("function", "not compiled", 'backend="eager"', "Inductor")
    tclab.show(tclab.Table("Went through the override", "ways", ways, rows))
went = {name: said for name, *said in rows}

# claim: two-languages, torch >= 2.13
assert {"cutedsl", "triton"} <= set(languages)
# claim: helion-from-2-14
assert ("helion" in languages) == (VERSION >= (2, 14))
# claim: a-build-for-cpus-has-none, torch >= 2.13
assert built or not any(own.values())
# claim: eager-goes-through-it, torch >= 2.13
assert before == {False} and all(said[0] for said in went.values()) and len(went) == 3
# claim: so-does-what-inductor-hands-on, torch >= 2.13
assert went.get("running") == [True, True, True]
# claim: what-inductor-writes-itself-does-not, torch >= 2.13
assert went.get("tangent") == went.get("product") == [True, True, False]
