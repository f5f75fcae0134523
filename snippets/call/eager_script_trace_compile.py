"""Ten pieces of Python, as eager, TorchScript and `torch.compile` run them.

Each function is prepared with one input and then called with it and with another. TorchScript has
two ways in: `script` translates the source, `trace` records one call. A result counts as right if
it is close to eager's, for both inputs.
"""
# tclab: timeout=120

import io
import time
import warnings

import numpy as np
import torch
from torch._dynamo.testing import CompileCounter

import tclab


def plain(x):
    return torch.relu(x) * 2


def branch_on_a_value(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def loop_over_a_size(x):
    y = x
    for i in range(x.shape[0]):
        y = y + i
    return y


def dict_of_mixed(x):
    options = {"scale": 2.0, "name": "abc"}
    return x * options["scale"]


def keyword_arguments(x):
    def inner(y, **more):
        return y * more["by"]

    return inner(x, by=3)


def closure(x):
    centre = lambda y: y - x.mean()
    return centre(x)


def try_and_except(x):
    try:
        return x.view(-1, 5)
    except RuntimeError:
        return x.view(-1, 2)


def generator(x):
    return sum(part * 2 for part in x.unbind())


def numpy_inside(x):
    return torch.from_numpy(np.sin(x.numpy())) + 1


def a_number_from_a_tensor(x):
    return x * float(x.max())


FUNCTIONS = (plain, branch_on_a_value, loop_over_a_size, dict_of_mixed, keyword_arguments)
FUNCTIONS += (closure, try_and_except, generator, numpy_inside, a_number_from_a_tensor)
EXAMPLE, OTHER = torch.arange(1.0, 11.0).view(10, 1), -torch.arange(1.0, 5.0).view(4, 1)
counters = {}
WAYS = {
    "script": torch.jit.script,
    "trace": lambda f: torch.jit.trace(f, (EXAMPLE,)),
    "torch.compile": lambda f: torch.compile(f, backend=counters.setdefault(f, CompileCounter())),
}


def close(result, expected):
    return result.shape == expected.shape and torch.allclose(result, expected)


def outcome(way, function):
    """What becomes of a function that is prepared in one way."""
    torch._dynamo.reset()
    try:
        made = way(function)
        same = [close(made(x), function(x)) for x in (EXAMPLE, OTHER)]
    except Exception as error:
        return f"refused: {type(error).__name__}"
    return "right" if all(same) else "wrong for the other input"


with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    rows = [(f.__name__, *(outcome(way, f) for way in WAYS.values())) for f in FUNCTIONS]
tclab.show(tclab.Table("Python that each takes", "python", ("function", *WAYS), rows))
told = {str(w.message).split("`")[1]: w.category for w in warned if "torch.jit." in str(w.message)}
tclab.show(tclab.Table("What TorchScript says of itself", "status", ("call", "warning"),
           [(name, kind.__name__) for name, kind in sorted(told.items())]))  # fmt: skip

said = {way: [row[1 + i] for row in rows] for i, way in enumerate(WAYS)}
caught = [row[3] for row in rows if row[0] == "try_and_except"]
# claim: compile-is-right-on-nine
assert said["torch.compile"].count("right") >= 9, rows
assert all(counter.frame_count for counter in counters.values()), "one was not compiled"
# claim: and-refuses-a-failure-that-is-caught, torch < 2.14
assert caught == ["refused: TorchRuntimeError"], rows
# claim: and-on-all-ten, torch >= 2.14
assert caught == ["right"], rows
# claim: script-refuses-half
assert sum(each.startswith("refused") for each in said["script"]) >= 5, rows
# claim: what-script-takes-is-right
assert not any(each.startswith("wrong") for each in said["script"]), rows
# claim: trace-goes-wrong-without-a-word
assert sum(each.startswith("wrong") for each in said["trace"]) >= 4, rows
# claim: trace-keeps-one-branch
assert rows[1][2].startswith("wrong") and rows[1][1] == "right"
# claim: neither-is-wrong-where-it-takes-a-function
assert not any(each.startswith("wrong") for each in said["torch.compile"]), rows
# claim: torchscript-is-deprecated
assert {"torch.jit.script", "torch.jit.trace"} <= set(told), told
# claim: a-warning-that-python-hides, torch < 2.14
assert set(told.values()) == {DeprecationWarning}, told
# claim: a-warning-that-is-shown, torch >= 2.14
assert set(told.values()) == {FutureWarning}, told


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(16)))

    def forward(self, x):
        return torch.relu(self.layers(x)) + x


warnings.simplefilter("ignore")
torch.manual_seed(0)
block, x = Block().eval(), torch.randn(4, 8)
rows, saved = [], {}
for name, way in {"eager": lambda f: f, **WAYS}.items():
    torch._dynamo.reset()
    begin = time.perf_counter()
    made = torch.jit.trace(block, (x,)) if name == "trace" else way(block)
    made(x).sum().backward()
    first = time.perf_counter() - begin
    gradient = block.layers[0].weight.grad.clone()
    block.zero_grad()
    block(x).sum().backward()
    assert torch.allclose(gradient, block.layers[0].weight.grad)
    block.zero_grad()
    try:
        torch.jit.save(made, (file := io.BytesIO()))
        file.seek(0)
        saved[name] = torch.equal(torch.jit.load(file)(x), made(x))
    except Exception:
        saved[name] = False
    rows.append((name, first, "yes" if saved[name] else "no"))
columns = ("way", "first forward and backward", "a file that runs without the source")
tclab.show(tclab.Table("One model", "model", columns, rows, units=("", "s", ""),
                       formats=("", ".3f", "")))  # fmt: skip

# claim: a-script-is-a-file-without-the-source
assert saved == {"eager": False, "script": True, "trace": True, "torch.compile": False}, saved
# claim: compile-is-slower-than-eager-to-the-first-result
assert rows[-1][1] > 2 * rows[0][1], rows
