"""Which tensor fixes a size, with `dynamic=True` on.

Each function takes `x` of eight rows and four columns. What else it reads is an argument, a
parameter, a buffer, or a plain tensor. *Symbols of x* are the dimensions of `x` that stayed
symbolic, *of the other* those of the other tensor. The last column is with
`force_parameter_static_shapes` off.
"""

import torch
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

import tclab

config = torch._dynamo.config


def beside(x, other):
    """No operation has both."""
    return x.sin(), other.sin()


def partner(x, other):
    """A product: the columns of the one are the rows of the other."""
    return x @ other


class Holds(torch.nn.Module):
    """The other tensor as an attribute of a module."""

    def __init__(self, other, buffer=False):
        super().__init__()
        if buffer:
            self.register_buffer("other", other)
        else:
            self.other = other

    def forward(self, x):
        return beside(x, self.other)


tensor, parameter = torch.ones(4, 6), torch.nn.Parameter(torch.ones(4, 6))
CASES = {
    "a tensor beside it": (beside, tensor),
    "a parameter beside it": (beside, parameter),
    "a tensor as its partner": (partner, tensor),
    "a parameter as its partner": (partner, parameter),
    "a parameter of a module": (Holds(parameter),),
    "a buffer of a module": (Holds(tensor, buffer=True),),
    "a tensor of a module": (Holds(tensor),),
}


def symbolic(fn, *others):
    """The dimensions that are symbols: of x, of the other tensor."""
    x = torch.ones(8, 4)
    c = tclab.capture(fn, backend="eager", dynamic=True)(x, *others)
    (graph,) = c.graphs
    inputs = {n.name: n.shape for n in graph.nodes if n.op == "placeholder" and n.shape}
    of_x = inputs.pop("l_x_")
    (of_other,) = inputs.values()
    return tuple([str(i) for i, size in enumerate(shape) if not str(size).isdigit()]
                 for shape in (of_x, of_other))  # fmt: skip


def with_settings(case, **settings):
    with config.patch(**settings):
        return symbolic(*CASES[case])


found = {case: with_settings(case) for case in CASES}
free = {case: with_settings(case, force_parameter_static_shapes=False) for case in CASES}
rows = [
    (case, *(", ".join(part) or "none" for part in found[case]), ", ".join(free[case][1]) or "none")
    for case in CASES
]
columns = ("the other tensor", "symbols of x", "of the other", "of the other, setting off")
tclab.show(tclab.Table("What stays symbolic", "symbols", columns, rows))


def marked(other, dimension):
    """The graphs for three numbers of columns, or rows, of x; or the error."""
    inputs = [torch.ones(8, 4), torch.ones(12, 4), torch.ones(16, 4)]
    for x in inputs:
        torch._dynamo.mark_dynamic(x, dimension)
    try:
        c = tclab.capture(partner, backend="eager").over([(x, other) for x in inputs])
    except ConstraintViolationError as error:
        return "error", str(error)
    return str(len(c.graphs)), ""


rows_marked, columns_marked = marked(parameter, 0), marked(parameter, 1)
all_of = [["0", "1"], ["0", "1"]]

# claim: a-tensor-is-symbolic
assert list(found["a tensor beside it"]) == all_of
assert list(found["a tensor as its partner"]) == all_of
# claim: a-parameter-is-not
assert found["a parameter beside it"] == (["0", "1"], [])
# claim: nor-in-a-module
assert found["a parameter of a module"] == found["a buffer of a module"] == (["0", "1"], [])
# claim: a-plain-tensor-of-a-module-is
assert found["a tensor of a module"][1] == ["0", "1"]
# claim: a-static-partner-fixes-the-shared-size
assert found["a parameter as its partner"] == (["0"], [])
# claim: the-setting-off-makes-parameters-symbolic
assert config.force_parameter_static_shapes
assert all(free[case][1] == ["0", "1"] for case in CASES)
# claim: mark-the-other-dimension
assert rows_marked == ("1", "")
# claim: the-shared-one-is-an-error
assert columns_marked[0] == "error" and "size()[1]" in columns_marked[1]
