"""Beliefs about training: when the backward is compiled, what takes part, second derivatives."""
# tclab: needs=cxx timeout=900

import torch
from _beliefs import DOES_NOT, Beliefs, count, transformer_layer
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import counters
from torch._functorch.aot_autograd import make_boxed_func

beliefs, made = Beliefs("Training"), []


def part(name):
    def compile_graph(graph, example_inputs):
        made.append(name)
        return make_boxed_func(graph.forward)

    return compile_graph


split = aot_autograd(fw_compiler=part("forward"), bw_compiler=part("backward"))


def loss(x):
    return (x.sin() * x).sum()


layer = transformer_layer()


def loss_of_a_layer(x):
    return layer(x.reshape(1, -1, 16)).square().mean()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def of_its_own(x):
    return Doubled.apply(x).sum()


def begin(fn=loss, backend=split, size=8, **options):
    """The compiled function's result, and the input that wants a gradient."""
    torch._dynamo.reset()
    counters.clear()
    made.clear()
    x = torch.linspace(0, 1, size, requires_grad=True)
    return torch.compile(fn, backend=backend, **options)(x), x


def left_out(fn, size=8):
    """Whether no backward is compiled, with compiled autograd off."""
    result, _ = begin(fn, size=size)
    result.backward()
    captures = counters["compiled_autograd"]["captures"]
    assert captures == 0 and not torch._dynamo.config.compiled_autograd
    return "backward" not in made, f"{count(captures, 'capture')}, {', '.join(made)}"


needed = beliefs.judge(
    "Compiled autograd is needed to compile a backward",
    {
        "it is off": left_out(loss),
        "it is off, and the function has a backward of its own": left_out(of_its_own),
        "it is off, and it is a transformer layer": left_out(loss_of_a_layer, 64),
    },
)
# claim: aotautograd-compiles-it
assert needed == DOES_NOT


def late(**options):
    begin(**options)
    return "backward" not in made, f"the forward compiles {' and '.join(sorted(made))}"


lazy = beliefs.judge(
    "The backward is compiled when `backward()` first runs",
    {
        "sizes are static": late(dynamic=False),
        "sizes are static, of a transformer layer": late(
            fn=loss_of_a_layer, size=64, dynamic=False
        ),
        "sizes are symbols": late(dynamic=True),
    },
)
# claim: symbols-compile-both
assert lazy.startswith("holds only if sizes are static or") and "symbols" not in lazy


def twice(backend):
    """Whether a second derivative is right: of x·sin(x) it is 2·cos(x) − x·sin(x)."""
    result, x = begin(backend=backend)
    try:
        (gradient,) = torch.autograd.grad(result, x, create_graph=True)
        (second,) = torch.autograd.grad(gradient.sum(), x)
    except RuntimeError as error:
        return False, type(error).__name__
    return torch.allclose(second, 2 * x.cos() - x * x.sin()), "right"


def penalised(backend):
    """Whether a critic's gradient penalty reaches its weights as in eager."""
    torch._dynamo.reset()
    critic = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    compiled, x = torch.compile(critic, backend=backend), torch.ones(2, 4, requires_grad=True)
    try:
        (gradient,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
        (gradient.norm() - 1).square().backward()
    except RuntimeError as error:
        return False, type(error).__name__
    return critic[0].weight.grad is not None, "right"


double = beliefs.judge(
    "A compiled function can be differentiated twice",
    {
        "the backend is eager": twice("eager"),
        "the backend is aot_eager": twice("aot_eager"),
        "it is a gradient penalty under inductor": penalised("inductor"),
    },
)
# claim: not-through-aotautograd
assert double == "holds only if the backend is eager"


def steps(x):
    loss(x).backward()
    return x.grad + 0


def asks(x):
    return torch.autograd.grad(loss(x), x)[0] + 0


def breaks(fn, traced):
    counter = CompileCounter()
    with torch._dynamo.config.patch(trace_autograd_ops=traced):
        gradient, x = begin(fn, counter)
    expected = x.detach().sin() + x.detach() * x.detach().cos()
    torch.testing.assert_close(gradient.detach(), expected)
    return counter.frame_count > 1, f"{fn.__name__} {count(counter.frame_count, 'graph')}"


def both(traced):
    """Whether `backward()` breaks and `torch.autograd.grad` does; what each made."""
    (one, graphs), (other, others) = (breaks(fn, traced) for fn in (steps, asks))
    assert one == other
    return one, f"{graphs}, {others}"


inside = beliefs.judge(
    "A backward inside a compiled function breaks the graph",
    {"trace_autograd_ops is off, its default": both(False), "it is on": both(True)},
)
# claim: both-break-by-default
assert inside == "holds only if trace_autograd_ops is off, its default"
# claim: off-is-the-default
assert not torch._dynamo.config.trace_autograd_ops


def update(compiled):
    """The graphs of a step, after those of the model; the weights must move as in eager."""
    torch._dynamo.reset()
    model, counter = torch.nn.Linear(4, 1), CompileCounter()
    before = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    torch.compile(model, backend=counter)(torch.ones(4)).backward()
    of_the_model = counter.frame_count
    assert of_the_model == 1
    (torch.compile(compiled(optimizer), backend=counter) if compiled else optimizer.step)()
    torch.testing.assert_close(model.weight.detach(), before - 0.5)
    made = counter.frame_count - of_the_model
    return made > 0, count(made, "graph")


def the_step(optimizer):
    return optimizer.step


def a_function_around(optimizer):
    def train():
        optimizer.step()

    return train


def of_adamw():
    """The graphs of AdamW's step after a compiled transformer layer's backward."""
    torch._dynamo.reset()
    deep, counter = transformer_layer(), CompileCounter()
    optimizer = torch.optim.AdamW(deep.parameters())
    torch.compile(deep, backend=counter)(torch.ones(1, 4, 16)).sum().backward()
    of_the_model = counter.frame_count
    assert of_the_model == 1
    optimizer.step()
    made = counter.frame_count - of_the_model
    return made > 0, count(made, "graph")


optimizers = beliefs.judge(
    "`optimizer.step()` is compiled along with the model",
    {
        "the model alone is compiled": update(None),
        "a transformer layer alone is compiled, with AdamW": of_adamw(),
        "the step is compiled, too": update(the_step),
        "a function that calls it is compiled": update(a_function_around),
    },
)
# claim: a-step-is-compiled-by-itself
assert optimizers.startswith("holds only if the step is compiled, too or a function that calls it")
beliefs.show()
