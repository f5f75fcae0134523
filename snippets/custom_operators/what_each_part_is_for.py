"""An operator with a part missing or wrong: who notices.

`opcheck` tries the parts against each other. `gradcheck` compares the derivative with differences.

Inductor compiles `read_before`, a function that reads the input before it calls the operator.
"""
# tclab: needs=cxx

import logging

import torch
from torch._dynamo.testing import CompileCounterWithBackend

import tclab

logging.disable(logging.WARNING)


def double(name, body=lambda x: x * 2, fake=torch.empty_like, slope=2):
    """An operator that doubles its input, with these parts."""

    def doubled(x: torch.Tensor) -> torch.Tensor:
        return body(x)

    op = torch.library.custom_op(f"lab::{name}", doubled, mutates_args=())
    if fake:
        op.register_fake(fake)
    if slope:
        op.register_autograd(lambda ctx, grad: grad * slope)
    return op


OPERATORS = {
    "nothing": double("whole"),
    "no fake": double("no_fake", fake=None),
    "fake: another size": double("wrong_size", fake=lambda x: x.new_empty(1)),
    "no derivative": double("no_autograd", slope=None),
    "derivative: another factor": double("wrong_slope", slope=3),
    "it changes its input": double("changes", body=lambda x: x.mul_(2).clone()),
}
x = torch.ones(4, dtype=torch.float64)


def eager(op):
    return torch.equal(op(x.clone()), x * 2)


def compiled(op, backend="aot_eager"):
    counter = CompileCounterWithBackend(backend)
    fn = torch.compile(lambda x: op(x) + 1, backend=counter, fullgraph=True)
    return torch.equal(fn(x.clone()), x * 2 + 1) and counter.frame_count == 1


def with_inductor(op):
    return compiled(op, backend="inductor")


def read_before(op):
    counter = CompileCounterWithBackend("inductor")
    fn = torch.compile(lambda x: x.sin() + op(x), backend=counter, fullgraph=True)
    return torch.allclose(fn(x.clone()), x.sin() + x * 2) and counter.frame_count == 1


def gradient(op):
    leaf = x.clone().requires_grad_()
    counter = CompileCounterWithBackend("aot_eager")
    fn = torch.compile(lambda x: op(x) + 1, backend=counter, fullgraph=True)
    fn(leaf).sum().backward()
    return leaf.grad.tolist() == [2] * 4 and counter.frame_count == 1


def opcheck(op):
    return bool(torch.library.opcheck(op, (x.clone().requires_grad_(),)))


def gradcheck(op):
    return torch.autograd.gradcheck(op, (x.clone().requires_grad_(),))


def answer(check, op):
    """ "right" or "wrong"; "error" where it raises."""
    torch._dynamo.reset()
    try:
        return "right" if check(op) else "wrong"
    except Exception:
        return "error"


def without_a_result(name, change, mutates_args):
    """An operator that returns nothing, and that has no fake."""

    def called(x: torch.Tensor) -> None:
        change(x)

    return torch.library.custom_op(f"lab::{name}", called, mutates_args=mutates_args)


def compiles(op):
    fn = torch.compile(lambda x: (op(x), x + 1)[1], backend="aot_eager", fullgraph=True)
    return fn(x.clone()).tolist() == [3 if op is IN_PLACE else 2] * 4


IN_PLACE = without_a_result("in_place", lambda x: x.mul_(2), ("x",))
A_LOOK = without_a_result("a_look", lambda x: x.sum().item(), ())
CHECKS = (eager, compiled, gradient, opcheck, gradcheck)
answers = {
    name: {check.__name__: answer(check, op) for check in CHECKS} for name, op in OPERATORS.items()
}
tclab.show(
    tclab.Table(
        title="Who notices",
        name="answers",
        columns=("what is wrong", *(check.__name__ for check in CHECKS)),
        rows=[(name, *row.values()) for name, row in answers.items()],
    )
)
nothing, no_fake, size, no_slope, slope, changes = answers.values()

# claim: all-parts-right
assert set(nothing.values()) == {"right"}
# claim: eager-needs-no-fake
assert no_fake["eager"] == "right" and no_fake["compiled"] == "error"
# claim: without-a-result-a-change-needs-no-fake
assert answer(compiles, IN_PLACE) == "right"
# claim: a-look-needs-one
assert answer(compiles, A_LOOK) == "error"
A_LOOK.register_fake(lambda x: None)
assert answer(compiles, A_LOOK) == "right"
# claim: a-wrong-size-goes-through-a-compile
assert size["compiled"] == "right"
in_turn = (OPERATORS["nothing"], OPERATORS["fake: another size"])
# claim: inductor-refuses-a-wrong-size
assert [answer(with_inductor, op) for op in in_turn] == ["right", "error"]
# claim: a-gradient-needs-a-derivative
assert no_slope["compiled"] == "right" and no_slope["gradient"] == "error"
# claim: a-wrong-derivative-is-silent
assert slope["gradient"] == "wrong" and slope["opcheck"] == "right"
# claim: gradcheck-finds-it
assert slope["gradcheck"] == "error"
# claim: an-undeclared-change-computes-right
assert (changes["eager"], changes["compiled"], changes["gradient"]) == ("right",) * 3
# claim: a-read-before-it-may-come-after
assert answer(read_before, OPERATORS["it changes its input"]) == "wrong"
assert answer(read_before, OPERATORS["nothing"]) == "right"
# claim: opcheck-finds-the-rest
assert {row["opcheck"] for row in (no_fake, size, no_slope, changes)} == {"error"}
