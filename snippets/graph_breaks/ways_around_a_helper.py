"""Four ways to keep Dynamo out of a helper, and what each leaves of it.

The helper multiplies by a global, which is 2 and then 3. In the second table it decides by a
number of its input, or it multiplies by a weight that it reads as a global and that asks for a
gradient; all but `disable` are asked for one graph there, with `fullgraph=True`. Results and
gradients are compared with eager's.
"""

import logging
import warnings

import torch
from torch._dynamo.decorators import leaf_function
from torch._dynamo.testing import CompileCounterWithBackend

import tclab

factor, ran = 2, []
layer = torch.nn.Linear(8, 8, bias=False)
weight = torch.full((8,), 2.0, requires_grad=True)


def multiplies(x):
    ran.append("fake" if isinstance(x, torch._subclasses.FakeTensor) else "real")
    return x * factor


def decides(x):
    return x * 2 if x.sum() > 0 else x * 3


def reads_a_weight(x):
    return x * weight


def as_a_leaf(helper):
    leaf = leaf_function(lambda x: (helper(x),))
    leaf.register_fake(lambda x: (torch.empty_like(x),))
    return lambda x: leaf(x)[0]


WAYS = {
    "as it is": lambda helper: helper,
    "torch.compiler.disable": torch.compiler.disable,
    "allow_in_graph": torch.compiler.allow_in_graph,
    "nonstrict_trace": torch._dynamo.nonstrict_trace,
    "leaf_function": as_a_leaf,
}


def outcome(fn, x):
    """The result and the gradients of the input and of the weight."""
    weight.grad, leaf = None, x.clone().requires_grad_()
    result = fn(leaf)
    result.sum().backward()
    return result, leaf.grad, torch.zeros(8) if weight.grad is None else weight.grad


def answer(compiled, helper, x):
    try:
        found = outcome(compiled, x)
    except Exception:
        return "error"
    exact = outcome(lambda x: helper(x.sin()).cos(), x)
    right = [torch.allclose(a, b) for a, b in zip(found, exact)]
    return "right" if all(right) else "no gradient of the weight" if all(right[:2]) else "stale"


def compiled(way, helper, backend="aot_eager", **options):
    """The function around a fresh copy of the helper, kept out in this way; its compiles."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    kept_out = WAYS[way](lambda x: helper(x))
    return torch.compile(lambda x: kept_out(x.sin()).cos(), backend=counter, **options), counter


def judged(way):
    """Graphs; runs of the helper with fake tensors, and in a warm call; answers at 2 and at 3."""
    globals()["factor"] = 2
    fn, counter = compiled(way, multiplies)
    ran.clear()
    first, *_ = outcome(fn, x)
    traced, graphs = ran.count("fake"), counter.frame_count
    ran.clear()
    outcome(fn, x)
    warm = len(ran)
    torch.testing.assert_close(first, torch.cos(x.sin() * 2))
    globals()["factor"] = 3
    return graphs, bool(traced), bool(warm), answer(fn, multiplies, x)


logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
x = torch.linspace(0.1, 1, 8)
first = {way: judged(way) for way in WAYS}
columns = ("way", "graphs", "traced with fake tensors", "runs in a warm call", "global changed")
rows = [(way, *row) for way, row in first.items()]
tclab.show(tclab.Table("A helper kept out", "ways", columns, rows))
second = {
    way: [
        answer(compiled(way, helper, fullgraph="disable" not in way)[0], helper, x)
        for helper in (decides, reads_a_weight)
    ]
    for way in WAYS
}
columns = ("way", "it decides by a number", "it reads a weight")
rows = [(way, *row) for way, row in second.items()]
tclab.show(tclab.Table("What the helper may do", "may", columns, rows))
disable, allow, nonstrict, leaf = ([*first[way], *second[way]] for way in list(WAYS)[1:])

# claim: disable-splits-and-is-right
assert disable[0] == 2 and disable[3:] == ["right"] * 3
# claim: the-rest-keep-one-graph
assert allow[0] == nonstrict[0] == leaf[0] == 1
# claim: two-are-traced-and-run-no-more
assert allow[1:3] == nonstrict[1:3] == [True, False]
# claim: so-a-global-stays
assert allow[3] == nonstrict[3] == "stale"
# claim: they-cannot-decide-or-read-a-weight
assert allow[4:] == nonstrict[4:] == ["error"] * 2
# claim: a-leaf-runs-at-each-call
assert leaf[1:3] == [False, True] and leaf[3:5] == ["right"] * 2
# claim: a-leaf-loses-the-gradient-of-what-it-reads
assert leaf[5] == "no gradient of the weight"

broken = {way: compiled(way, decides) for way in ("allow_in_graph", "nonstrict_trace")}
# claim: without-fullgraph-a-decision-breaks
assert all(answer(f, decides, x) == "right" and n.frame_count > 1 for f, n in broken.values())
outcome(compiled("nonstrict_trace", layer)[0], x)
# claim: a-layer-gets-no-gradient
assert layer.weight.grad is None and outcome(lambda x: layer(x.sin()).cos(), x)[0].requires_grad
# claim: inductor-refuses-a-leaf
assert answer(compiled("leaf_function", multiplies, "inductor")[0], multiplies, x) == "error"
