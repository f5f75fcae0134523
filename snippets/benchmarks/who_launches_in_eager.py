"""Who launches in eager mode: Python in the forward, the autograd engine in the backward.

One training step of a small model on this CPU. Counted are the operations, and what Python itself
did meanwhile: calls of functions, its own and built-in ones, as a profiler is told of them.
"""

import sys

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import tclab


class Counted(TorchDispatchMode):
    """Counts operations that reach a device; views do not."""

    operations = 0

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        self.operations += not fn.is_view
        return fn(*args, **(kwargs or {}))


def operations(fn):
    with Counted() as mode:
        fn()
    return mode.operations


def calls(fn):
    """What Python called while `fn` ran, by name; `fn`'s own call is left out."""
    events = []
    sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code, arg)))
    try:
        fn()
    finally:
        sys.setprofile(None)
    made = [code.co_name if event == "call" else arg.__name__
            for event, code, arg in events if event in ("call", "c_call")]  # fmt: skip
    return [name for name in made if name != "setprofile"]


model = nn.Sequential(*(part for _ in range(8) for part in (nn.Linear(16, 16), nn.GELU())))
x = torch.randn(4, 16)


def forward():
    return model(x).square().mean()


def engine(loss):
    """The backward as `loss.backward()` asks for it, without the checks before."""
    return lambda: torch.autograd.Variable._execution_engine.run_backward(
        (loss,), (torch.ones_like(loss),), False, False, (), True, True
    )


forward(), engine(forward())()  # the first of each does more
counts = {
    "forward": (operations(forward), calls(forward)),
    "backward": (operations(engine(forward())), calls(engine(forward()))),
}
rows = [(half, number, len(made)) for half, (number, made) in counts.items()]
columns = ("", "operations", "calls from Python")
tclab.show(tclab.Table("One step in eager mode", "launched", columns, rows))
_, of_the_forward = counts["forward"]
number, of_the_backward = counts["backward"]

# claim: python-calls-each-of-the-forward
assert of_the_forward.count("linear") == of_the_forward.count("gelu") == 8
# claim: the-backward-is-one-call-of-the-engine
assert of_the_backward.count("run_backward") == 1 and len(of_the_backward) < 10 < number / 2
