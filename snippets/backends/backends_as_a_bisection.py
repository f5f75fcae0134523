"""Which stage is wrong? Ask the same call of backends that leave stages out.

Faults are planted one after the other: a wrong lowering of tanh in Inductor, a wrong decomposition
of it that stands above, and a wrong sign in the partitioner, which cuts the joint graph in two.
Right is what has eager's result and eager's gradient. The last table counts compiles over six
slopes of a leaky ReLU: one stage, and not the same under each backend.
"""
# tclab: needs=cxx

from unittest import mock

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._dynamo.utils import counters
from torch._functorch import partitioners
from torch._inductor.decomposition import fast_random_decomps
from torch._inductor.lowering import lowerings

import tclab

aten = torch.ops.aten
BACKENDS = {
    "eager": "Dynamo",
    "aot_eager": "Dynamo, AOTAutograd and its partitioner",
    "aot_eager_decomp_partition": "… and Inductor's decompositions",
    "inductor": "… and Inductor's lowering and code",
}


def f(x):
    return torch.tanh(x) + 1


def who_is_right():
    """For each backend, whether its graph gives the result and the gradient that eager gives."""
    expected, answers = with_gradient(f), {}
    for name in BACKENDS:
        torch._dynamo.reset()
        counters.clear()
        result = with_gradient(torch.compile(f, backend=name))
        answers[name] = torch.allclose(result, expected)
        assert counters["stats"]["unique_graphs"] == 1
    return answers


def with_gradient(fn):
    x = torch.linspace(-1, 1, 8, requires_grad=True)
    result = fn(x)
    result.sum().backward()
    return torch.cat([result.detach(), x.grad])


def with_a_wrong_sign(*args, **kwargs):
    """The two halves of a joint graph; the backward's gradient is negated."""
    forward, backward = extract(*args, **kwargs)
    (output,) = backward.graph.find_nodes(op="output")
    gradient = next(node for node in output.all_input_nodes)
    with backward.graph.inserting_before(output):
        negative = backward.graph.call_function(aten.neg.default, (gradient,))
        negative.meta.update(gradient.meta)
        output.replace_input_with(gradient, negative)
    backward.recompile()
    return forward, backward


def compiles(backend):
    """Compiles of a leaky ReLU over six slopes."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    leaky = torch.compile(torch.nn.functional.leaky_relu, backend=counter)
    for slope in range(1, 7):
        leaky(torch.ones(4), slope / 8)
    return counter.frame_count


torch._inductor.config.force_disable_caches = True
sound = who_is_right()

right = lowerings[aten.tanh.default]
lowerings[aten.tanh.default] = lowerings[aten.sin.default]
in_inductor = who_is_right()
lowerings[aten.tanh.default] = right

fast_random_decomps()[aten.tanh.default] = torch.sin  # the table that Inductor decomposes by
in_decomposition = who_is_right()
fast_random_decomps.cache_clear()

extract = partitioners._extract_fwd_bwd_modules
with mock.patch.object(partitioners, "_extract_fwd_bwd_modules", with_a_wrong_sign):
    in_partitioner = who_is_right()


def said(answers):
    return ["right" if answers[name] else "wrong" for name in BACKENDS]


tclab.show(tclab.Table(
    title="Who is right", name="bisection",
    columns=("backend", "its stages", "nothing planted", "in Inductor", "in a decomposition",
             "in the partitioner"),
    rows=list(zip(BACKENDS, BACKENDS.values(), said(sound), said(in_inductor),
                  said(in_decomposition), said(in_partitioner))),
))  # fmt: skip
slopes = [(name, compiles(name)) for name in BACKENDS]
tclab.show(tclab.Table("Six slopes", "slopes", ("backend", "compiles"), slopes))

# claim: all-are-right-without-a-fault
assert all(sound.values())
# claim: a-fault-in-inductor-shows-in-inductor-only
assert [name for name, ok in in_inductor.items() if not ok] == ["inductor"]
# claim: a-fault-in-a-decomposition-shows-above-inductor
assert list(in_decomposition.values()) == [True, True, False, False]
# claim: a-fault-in-the-partitioner-shows-in-aot-eager
assert list(in_partitioner.values()) == [True, False, False, False]
# claim: tracing-is-not-the-same-under-both
assert dict(slopes)["aot_eager"] > dict(slopes)["inductor"]
# claim: decompositions-make-that-difference
assert dict(slopes)["aot_eager_decomp_partition"] == dict(slopes)["inductor"]
