"""Which stage is wrong? Ask the same call of backends that leave stages out.

A wrong lowering of tanh is planted in Inductor, then a wrong decomposition of it that stands
above. Each backend includes the stages of those before it.
"""

import torch
from torch._inductor.decomposition import fast_random_decomps
from torch._inductor.lowering import lowerings

import tclab

aten = torch.ops.aten
BACKENDS = {
    "eager": "Dynamo",
    "aot_eager": "Dynamo, AOTAutograd",
    "aot_eager_decomp_partition": "… and decompositions, partitioner",
    "inductor": "… and Inductor's lowering and code",
}


def f(x):
    return torch.tanh(x) + 1


def who_is_right():
    """For each backend, whether it gives what eager PyTorch gives."""
    x = torch.linspace(-1, 1, 8, requires_grad=True)
    answers = {}
    for name in BACKENDS:
        torch._dynamo.reset()
        answers[name] = torch.allclose(torch.compile(f, backend=name)(x), f(x))
    return answers


torch._inductor.config.force_disable_caches = True
sound = who_is_right()

right = lowerings[aten.tanh.default]
lowerings[aten.tanh.default] = lowerings[aten.sin.default]
in_inductor = who_is_right()
lowerings[aten.tanh.default] = right

fast_random_decomps()[aten.tanh.default] = torch.sin  # the table that Inductor decomposes by
in_decomposition = who_is_right()
fast_random_decomps.cache_clear()


def said(answers):
    return ["right" if answers[name] else "wrong" for name in BACKENDS]


tclab.show(tclab.Table(
    title="Who is right", name="bisection",
    columns=("backend", "its stages", "nothing planted", "in Inductor", "in a decomposition"),
    rows=list(zip(BACKENDS, BACKENDS.values(), said(sound), said(in_inductor),
                  said(in_decomposition))),
))  # fmt: skip

# claim: all-are-right-without-a-fault
assert all(sound.values())
# claim: a-fault-in-inductor-shows-in-inductor-only
assert [name for name, ok in in_inductor.items() if not ok] == ["inductor"]
# claim: a-fault-in-a-decomposition-shows-above-inductor
assert list(in_decomposition.values()) == [True, True, False, False]
