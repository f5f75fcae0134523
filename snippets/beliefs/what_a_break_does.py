"""Beliefs about graphs: what is in them, values that only the data knows, what a break does."""

import contextlib
import logging
import operator

import torch
from _beliefs import Beliefs, count, graphs, transformer_layer
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

beliefs, x, traced = Beliefs("Graphs, and what a break does"), torch.ones(4), []


def record(graph, example_inputs):
    """A backend that notes the functions of each graph, and runs it."""
    traced.append([n.target for n in graph.graph.nodes if n.op.startswith("call")])
    return make_boxed_func(graph.forward)


def targets(fn, backend=None, x=x):
    torch._dynamo.reset()
    traced.clear()
    backend = backend or (lambda graph, inputs: record(graph, inputs) and graph.forward)
    torch.testing.assert_close(torch.compile(fn, backend=backend)(x), fn(x))
    return [target for graph in traced for target in graph]


def relu_and_sum(x):
    return torch.relu(x + 1).sum()


def aten(found):
    """Whether all are operators of ATen, but for what takes one of several results."""
    targets = [t for t in found if t is not operator.getitem]
    return all(isinstance(t, torch._ops.OpOverload) for t in targets), str(found[-1])


layer, tokens = transformer_layer().requires_grad_(False), torch.ones(1, 4, 16)
lower = aot_autograd(fw_compiler=record)
levels = beliefs.judge(
    "The graph holds ATen operators",
    {
        "it is Dynamo's": aten(targets(relu_and_sum)),
        "it is Dynamo's of a transformer layer": aten(targets(layer, x=tokens)),
        "it is AOTAutograd's": aten(targets(relu_and_sum, lower)),
        "it is AOTAutograd's of a transformer layer": aten(targets(layer, lower, tokens)),
    },
)
# claim: aten-comes-with-aotautograd
assert levels == ("holds only if it is AOTAutograd's or it is AOTAutograd's of a transformer layer")


def item(x):
    return x.sin() + x.sum().item()


def another_item(x):
    return x.cos() + x.max().item()


def nonzero(x):
    return torch.nonzero(x.sin()).sum()


def prints(x):
    y = x.sin()
    print(end="")
    return y.cos()


def in_a_loop(x):
    for _ in range(2):
        x = x.sin()
        torch._dynamo.graph_break()
    return x.cos()


class Heard(logging.Handler):
    def emit(self, line):
        heard.append(line.getMessage())


def announced(fn):
    """Whether a call that breaks says so, at the level that is shown by default."""
    heard.clear()
    graphs(fn, x)
    return bool(heard), heard[0].partition(",")[0] if heard else "nothing"


heard, handler = [], Heard(logging.WARNING)
logging.getLogger("torch._dynamo").addHandler(handler)
silent = beliefs.judge(
    "A break is announced",
    {
        "it is a print": announced(prints),
        "it is the first .item() of the process": announced(item),
        "it is another .item()": announced(another_item),
    },
)
# claim: a-print-is-silent
assert silent == "holds only if it is the first .item() of the process"


def broken(**options):
    made = [graphs(fn, x, **options) for fn in (item, nonzero)]
    return min(made) > 1, " and ".join(count(n, "graph") for n in made)


captured = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
plain, strict = broken(), broken(fullgraph=True)
with torch._dynamo.config.patch(captured):
    options = broken()
conditions = ("no option is set", "the capture options are set", "fullgraph=True")
cases = dict(zip(conditions, (plain, options, strict)))
data = beliefs.judge("`.item()` and `nonzero` break the graph", cases)
assert options[1] == strict[1] == "1 graph and 1 graph"
# claim: both-break-by-default-alone
assert data == "holds only if no option is set"


def branches(x):
    y = x.sin()
    return y.cos() if y.sum() > 0 else y.tan()


def in_a_try(x):
    try:
        y = x.sin()
        torch._dynamo.graph_break()
    except ValueError:
        y = x
    return y.cos()


def in_a_block(x):
    with own():
        y = x.sin()
        torch._dynamo.graph_break()
    return y.cos()


@contextlib.contextmanager
def own():
    yield


def eager_after(fn):
    after = "cos" not in str(targets(fn))
    return after, "cos in no graph" if after else "cos in a graph"


rest = beliefs.judge(
    "After a break the rest of the function runs eager",
    {
        "it was an if on data": eager_after(branches),
        "it was a print": eager_after(prints),
        "it was in a loop": eager_after(in_a_loop),
        "it was in a try": eager_after(in_a_try),
        "it was in a context manager of one's own": eager_after(in_a_block),
    },
)
# claim: a-loop-a-try-or-a-block-gives-the-rest-up
assert rest == (
    "holds only if it was in a loop or it was in a try or it was in a context manager of one's own"
)


def prints_first(x):
    print(end="")
    return x.sin()


def explained(fn, true):
    counted = torch._dynamo.explain(fn)(x).graph_break_count
    return counted == true, f"{counted}, and there is {count(true, 'break')}"


counted = beliefs.judge(
    "`torch._dynamo.explain` counts the breaks",
    {
        "one is at a print between operations": explained(prints, 1),
        "one is at a print before them": explained(prints_first, 1),
        "one is in a loop": explained(in_a_loop, 1),
    },
)
# claim: explain-misses-what-was-given-up
assert counted == "holds only if one is at a print between operations"
beliefs.show()
