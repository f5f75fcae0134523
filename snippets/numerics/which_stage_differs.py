"""The first stage that differs: backends that leave stages out, compared bit by bit.

Each backend includes the stages of those before it, so the first one that differs from eager is
where to look first. Where none differs before Inductor, the cause lies in its passes or its code. A
later stage can bring eager's bits back: of `two_results` each differs under another backend.
"""
# tclab: timeout=240

import torch
from torch._dynamo.utils import counters

import tclab

BACKENDS = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
F = torch.nn.functional


def total(x):
    return x.view(64, -1).sum(-1)


def bfloat16_chain(x):
    x = x.bfloat16()
    return (x * x + x) * x + x


def dropout(x):
    return F.dropout(x, 0.5)


def layer_norm(x):
    return F.layer_norm(x.view(64, -1), (256,))


def cross_entropy(x):
    return F.cross_entropy(x.view(64, -1), torch.arange(64))


def resized(x):
    return F.interpolate(x.view(1, 1, 128, 128), scale_factor=2, mode="bilinear")


def pointwise(x):
    return (x + 1) * x


def two_results(x):
    return F.silu(x), torch.tanh(x)


def seeded(fn, x):
    torch.manual_seed(1)
    return fn(x)


def stages(fn, x):
    """For each backend whether its bits are eager's; None after the first that differ."""
    expected, same = seeded(fn, x), []
    for backend in BACKENDS:
        if False in same:
            same.append(None)
            continue
        torch._dynamo.reset()
        counters.clear()
        same.append(torch.equal(seeded(torch.compile(fn, backend=backend), x), expected))
        assert counters["stats"]["unique_graphs"] == 1
    return same


def differing(fn, backend):
    """Of each result whether it has not eager's bits."""
    torch._dynamo.reset()
    pairs = zip(torch.compile(fn, backend=backend)(x), fn(x))
    return [not torch.equal(compiled, eager) for compiled, eager in pairs]


torch.manual_seed(0)
x = torch.randn(1 << 14)
WORDS = {True: "same bits", False: "differs", None: "not asked"}
FUNCTIONS = (pointwise, total, bfloat16_chain, dropout, layer_norm, cross_entropy, resized)
asked = {fn.__name__: stages(fn, x) for fn in FUNCTIONS}
first = {
    name: BACKENDS[same.index(False)] if False in same else "none" for name, same in asked.items()
}
tclab.show(
    tclab.Table(
        title="Which backend is the first to differ",
        name="stages",
        columns=("function", *BACKENDS),
        rows=[(name, *(WORDS[each] for each in same)) for name, same in asked.items()],
    )
)

# claim: dynamo-changes-no-bit
assert all(same[0] for same in asked.values())
# claim: a-resize-is-taken-apart-in-the-trace
assert first["resized"] == "aot_eager"
# claim: pointwise-float32-is-the-same-throughout
assert first["pointwise"] == "none"
# claim: sums-and-casts-are-inductors
assert first["total"] == first["bfloat16_chain"] == "inductor"
# claim: random-numbers-are-decomposed
assert first["dropout"] == "aot_eager_decomp_partition"
# claim: a-norm-is-decomposed-before
assert first["layer_norm"] == "aot_eager_decomp_partition"
assert first["cross_entropy"] in {"aot_eager_decomp_partition", "inductor"}  # by CPU
of_two = {backend: differing(two_results, backend) for backend in BACKENDS}
# claim: the-first-to-differ-need-not-be-the-cause
assert of_two["aot_eager_decomp_partition"] == [True, False]
assert of_two["inductor"] == [False, True] and not any(of_two["aot_eager"])
