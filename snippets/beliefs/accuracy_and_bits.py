"""Beliefs about numbers: against float64, against eager bit for bit, and random ones."""
# tclab: needs=cxx timeout=240

import torch
from _beliefs import VERSION, Beliefs, transformer_layer
from torch._inductor import config

beliefs = Beliefs("Numbers")


def chain(x):
    y = x
    for _ in range(8):
        y = (y * x + x).relu() - x
    return y


def total(x):
    return x.sum(-1)


def compiled(fn, *args, **options):
    torch._dynamo.reset()
    with config.patch(options):
        return torch.compile(fn, dynamic=False)(*args)


def error(result, exact):
    """Root of the mean square of the differences from float64."""
    return (result.double() - exact).square().mean().sqrt().item()


def worse(fn, x):
    """Whether the compiled function is farther from float64 than eager is."""
    exact = fn(x.double())
    eager, other = error(fn(x), exact), error(compiled(fn, x), exact)
    return other > eager, f"{other:.1e}, eager {eager:.1e}"


torch.manual_seed(0)
x = torch.rand(4096).bfloat16()
layer = transformer_layer().eval().requires_grad_(False)


def of_a_layer(tokens):
    """A transformer layer, in the dtype of its input."""
    return torch.func.functional_call(
        layer, {name: p.to(tokens.dtype) for name, p in layer.named_parameters()}, tokens
    )


tokens = torch.randn(8, 32, 16)
accuracy = beliefs.judge(
    "Compiled code is less accurate than eager",
    {
        "it is a chain in bfloat16": worse(chain, x),
        "it is a transformer layer in bfloat16": worse(of_a_layer, tokens.bfloat16()),
        "it is a long sum in float32": worse(total, torch.rand(256, 16_384)),
    },
)
# claim: not-in-bfloat16
assert accuracy == "holds only if it is a long sum in float32"


def bits(fn=chain, **options):
    equal = torch.equal(compiled(fn, x, **options), fn(x))
    return equal, "every bit" if equal else "other bits"


def exact(x):
    return (x * 2).relu() * 4  # powers of two: nothing is rounded


def gated(x):
    return torch.nn.functional.silu(x) * x  # as in the feed-forward of many language models


def adds_a_number(x):
    return x * 0.1 + 0.3  # eager rounds the 0.3 to bfloat16 first


equality = beliefs.judge(
    "A compiled chain in bfloat16 gives eager's bits",
    {
        "no option is set": bits(),
        "emulate_precision_casts is set": bits(emulate_precision_casts=True),
        "nothing in it is rounded": bits(exact),
        "it is a gated activation, and no option is set": bits(gated),
        "emulate_precision_casts is set, and a number is added": bits(
            adds_a_number, emulate_precision_casts=True
        ),
    },
)
if VERSION >= (2, 13):
    on_request = "holds only if emulate_precision_casts is set or nothing in it is rounded"
    # claim: casts-are-emulated-on-request, torch >= 2.13
    assert equality.startswith(on_request) and "gated" not in equality
if VERSION == (2, 13):
    # claim: a-number-keeps-other-bits, torch == 2.13
    assert equality == on_request
if VERSION == (2, 14):
    # claim: a-number-had-its-bits, torch == 2.14
    assert equality == on_request + " or emulate_precision_casts is set, and a number is added"
if VERSION >= (2, 15):
    # claim: a-number-has-other-bits-again, torch >= 2.15
    assert equality == on_request
if VERSION < (2, 12):
    # claim: casts-were-not-enough, torch < 2.12
    assert equality == "holds only if nothing in it is rounded"


def draw():
    return torch.rand(5)


dropout = torch.nn.Dropout()


def dropped():
    return dropout(torch.ones(64))


def drawn(fn=draw, **options):
    torch.manual_seed(0)
    eager = fn()
    torch.manual_seed(0)
    equal = torch.equal(compiled(fn, **options), eager)
    return equal, "the same numbers" if equal else "other numbers"


seeds = beliefs.judge(
    "The same seed gives the same random numbers as eager",
    {
        "no option is set": drawn(),
        "no option is set, and it is nn.Dropout": drawn(dropped),
        "fallback_random is set": drawn(fallback_random=True),
        "fallback_random is set, and it is nn.Dropout": drawn(dropped, fallback_random=True),
    },
)
# claim: other-numbers-by-default
assert seeds.startswith("holds only if fallback_random is set") and "no option" not in seeds
beliefs.show()
