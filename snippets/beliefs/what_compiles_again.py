"""Beliefs about recompiles: sizes, numbers, lists, globals, and the limit."""
# tclab: needs=cxx timeout=900

import os

import torch
from _beliefs import Beliefs, count, transformer_layer
from torch._dynamo import mark_dynamic, maybe_mark_dynamic
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend

beliefs, x, offset = Beliefs("What compiles again"), torch.ones(4), [1]
FACTOR = 1


@torch.no_grad()
def compiles(fn, calls, backend="inductor", **options):
    """How many calls of a sequence compiled; each must do as eager does.

    A compile that begins again calls the backend again: its calls alone would be too many.
    """
    torch._dynamo.reset()
    counter, number = CompileCounterWithBackend(backend), 0
    compiled = torch.compile(fn, backend=counter, **options)
    for args in calls:
        before = counter.frame_count
        torch.testing.assert_close(compiled(*args), fn(*args), rtol=1e-4, atol=1e-5)
        number += counter.frame_count > before
    return number


def again(fn, calls, **options):
    """Whether each call but the first compiled again."""
    number = compiles(fn, calls, **options)
    return number == len(calls), f"{count(number, 'compile')} for {count(len(calls), 'call')}"


def rows(*sizes):
    return [(torch.ones(size),) for size in sizes]


layer = transformer_layer()
texts = [(torch.ones(1, length, 16),) for length in (8, 16, 24)]


def f(x):
    return x.sin()


def compares(x):
    return x.sin() if x.shape[0] > 10 else x.cos()


def marked(size, mark):
    y = torch.ones(size)
    mark(y, 0)
    return [(y,), *rows(16, 24)]


def one_compile(calls, **options):
    number = compiles(f, calls, **options)
    return number == 1, f"{count(number, 'compile')} for {count(len(calls), 'size')}"


of_texts = compiles(layer, texts)
with torch._dynamo.config.patch(assume_static_by_default=False):
    not_assumed = one_compile(rows(8, 16, 24))
first = beliefs.judge(
    "The first compile already takes the batch size as a symbol",
    {
        "no option is set": one_compile(rows(8, 16, 24)),
        "no option is set, of a transformer layer": (of_texts == 1, f"{of_texts} for 3 sizes"),
        "dynamic=True": one_compile(rows(8, 16, 24), dynamic=True),
        "the size is marked with mark_dynamic": one_compile(marked(8, mark_dynamic)),
        "with maybe_mark_dynamic": one_compile(marked(8, maybe_mark_dynamic)),
        "assume_static_by_default is off": not_assumed,
    },
)
# claim: static-first
assert first == (
    "holds only if dynamic=True or the size is marked with mark_dynamic "
    "or with maybe_mark_dynamic or assume_static_by_default is off"
)
shapes = beliefs.judge(
    "Every new shape compiles again",
    {
        "no option is set": again(f, rows(8, 16, 24, 32, 5000)),
        "no option is set, of a transformer layer": (of_texts == 3, f"{of_texts} for 3 calls"),
        "dynamic=False": again(f, rows(8, 16, 24, 32, 5000), dynamic=False),
    },
)
# claim: new-shapes-hit
assert compiles(f, rows(8, 16, 24, 32, 5000)) == 2
assert shapes == "holds only if dynamic=False"


def stays(fn, calls):
    number = compiles(fn, calls, dynamic=True)
    return number == 1, count(number, "compile")


dynamic = beliefs.judge(
    "Under `dynamic=True` there is one compile for all sizes",
    {
        "it is elementwise, and all sizes are two or more": stays(f, rows(8, 16, 5000)),
        "a transformer layer is called with three lengths": stays(layer, texts),
        "Inductor makes a sum of more than 4,096": stays(torch.sum, rows(8, 5000)),
        "one of them is 1": stays(f, rows(8, 1)),
        "one of them is 0": stays(f, rows(8, 0)),
        "the code compares the size": stays(compares, rows(8, 16)),
    },
)
# claim: zero-one-and-comparisons-compile-again
assert dynamic == (
    "holds only if it is elementwise, and all sizes are two or more"
    " or a transformer layer is called with three lengths"
)


def scale(x, k):
    return x * k


def scale_by_a_global(x):
    return x * FACTOR


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * self.factor


def repeat(x, times):
    for _ in range(times):
        x = x + 1
    return x


def assigned(names, name, numbers):
    """A call after each assignment of a number."""
    for number in numbers:
        names[name] = number
        yield (x,)


def of_a_global(numbers):
    return compiles(scale_by_a_global, assigned(globals(), "FACTOR", numbers), **traced)


def of_an_attribute(numbers):
    module = Scale()
    return compiles(module, assigned(vars(module), "factor", numbers), **traced)


def each(number):
    return number == 6, f"{count(number, 'compile')} for 6 calls"


traced, halves = {"backend": "eager"}, [k / 2 for k in range(3, 9)]  # Dynamo's part
numbers = beliefs.judge(
    "Every new number compiles again",
    {
        "an int is an argument and an operand": again(
            scale, [(x, k) for k in range(3, 9)], **traced
        ),
        "a float is an argument and an operand": again(scale, [(x, k) for k in halves], **traced),
        "a float is a global": each(of_a_global(halves)),
        "a float is an attribute of a module": each(of_an_attribute(halves)),
        "an int is a global": each(of_a_global(range(3, 9))),
        "an int is an attribute of a module": each(of_an_attribute(range(3, 9))),
        "a complex number is an operand": again(
            scale, [(x, k * 1j) for k in range(3, 9)], **traced
        ),
        "an int counts the turns of a loop": again(repeat, [(x, k) for k in range(3, 9)], **traced),
    },
)
# claim: an-argument-becomes-an-input
assert compiles(scale, [(x, k) for k in range(3, 9)], **traced) == 2
assert compiles(scale, [(x, k) for k in halves], **traced) == 2
assert of_a_global(halves) == of_an_attribute(halves) == 2
# claim: counts-compile-each-time
assert numbers == (
    "holds only if an int is a global or an int is an attribute of a module"
    " or a complex number is an operand or an int counts the turns of a loop"
)


def reads(x):
    return x + offset[0]


def asks_the_environment(x):
    return x + len(os.environ.get("TCLAB_OF_A_BELIEF", ""))


def heeded(fn, change):
    """Whether the change costs no compile, and how many compiles there were."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=(counter := CompileCounter()))
    compiled(x)
    change()
    compiled(x)
    return counter.frame_count == 1, count(counter.frame_count, "compile")


dropout = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout())
objects = beliefs.judge(
    "Only dtype, shape and type of the arguments decide about a recompile",
    {
        "the content of a global list changes": heeded(reads, lambda: offset.__setitem__(0, 2)),
        "a model with dropout goes to eval()": heeded(dropout, dropout.eval),
        "an environment variable changes": heeded(
            asks_the_environment, lambda: os.environ.update(TCLAB_OF_A_BELIEF="set")
        ),
    },
)
# claim: contents-are-guarded
assert objects == "holds only if an environment variable changes"


def limited(new):
    """After one compile too many, whether a call runs eager: no compiled code of it is entered."""
    torch._dynamo.reset()
    ran = []
    backend = lambda graph, inputs: lambda *args: ran.append(1) or graph.forward(*args)
    compiled = torch.compile(repeat, backend=backend)
    limit = torch._dynamo.config.recompile_limit
    for times in range(1, limit + 2):
        compiled(x, times)
    ran.clear()
    compiled(x, limit + 2 if new else 1)
    return not ran, "eager" if not ran else "compiled"


past = beliefs.judge(
    "Past the recompile limit a function runs eager for ever",
    {"the key is a new one": limited(True), "the key was compiled before": limited(False)},
)
# claim: old-keys-stay-compiled
assert past == "holds only if the key is a new one"
beliefs.show()
