"""Beliefs about Inductor: what it lowers to, what fuses, what modes and options change on a CPU."""
# tclab: needs=cxx timeout=900

import re

import torch
from _beliefs import DOES_NOT, Beliefs, count, transformer_layer
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import run_and_get_code, run_fw_bw_and_get_code

beliefs, x = Beliefs("Kernels"), torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
layer, tokens = transformer_layer(), x.reshape(-1, 4, 16)
w, b = torch.ones(64, 64) / 64, torch.ones(64)


def code(fn, *args, **options):
    """The wrapper and kernels that Inductor writes; the result must be eager's."""
    torch._dynamo.reset()
    result, sources = run_and_get_code(torch.compile(fn, **options), *args)
    torch.testing.assert_close(result, fn(*args), rtol=1e-4, atol=1e-5)
    return "\n".join(sources)


def kernels(text):
    """Kernels of its own, and calls of a library."""
    own = len(set(re.findall(r"\bcpp_fused_\w+ = async_compile", text)))
    return own, len(re.findall(r"^\s+extern_kernels\.\w+\(", text, re.MULTILINE))


def told(own, library):
    return f"{count(own, 'kernel')}, {count(library, 'library call')}"


table = set(select_decomp_table())
core = set(torch._decomp.core_aten_decompositions())


def core_alone(fn, *args):
    """Whether each operator that Inductor is given is tagged as one of Core ATen."""
    torch._dynamo.reset()
    given = set()

    def look(graph):
        targets = {node.target for node in graph.nodes}
        given.update(t for t in targets if isinstance(t, torch._ops.OpOverload))

    with torch.no_grad(), torch._inductor.config.patch(post_grad_custom_post_pass=look):
        torch.compile(fn)(*args)
    others = [operator for operator in given if torch.Tag.core not in operator.tags]
    return not others, f"{len(others)} of {count(len(given), 'operator')} outside"


lowering = beliefs.judge(
    "Inductor lowers to Core ATen",
    {
        "its decompositions are those of Core ATen": (
            table == core,
            f"{len(table):,} against {len(core):,}, {len(core - table)} left out",
        ),
        "it is given a softmax in bfloat16": core_alone(lambda x: x.bfloat16().softmax(-1), x),
        "it is given a transformer layer": core_alone(layer, tokens),
    },
)
# claim: its-table-is-another
assert lowering == DOES_NOT


def linear(x, w, b):
    return torch.relu(x @ w + b)


def fused(x=x, w=w, b=b, **options):
    own, library = kernels(code(linear, x, w, b, **options))
    return own + library == 1, told(own, library)


@torch.no_grad()
def fused_layers():
    own, library = kernels(code(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()), x))
    return own + library == 1, told(own, library)


products = beliefs.judge(
    "A product, a bias and a ReLU are one kernel",
    {
        "no option is set, of 64 rows on a CPU": fused(),
        "max_autotune, of 64 rows on a CPU": fused(options={"max_autotune": True}),
        "it is nn.Linear and nn.ReLU, on a CPU": fused_layers(),
        "it is a row by a column, on a CPU": fused(x[:1].clone(), w[:, :1].clone(), b[:1].clone()),
    },
)
# claim: a-square-product-is-a-call
assert products == "holds only if it is a row by a column, on a CPU"


def chain(x):
    y = x.sin()
    y.add_(1)
    y.mul_(2)
    return y.relu()


def through_a_view(x):
    y = x.sin()
    y[1:].add_(1)
    return y.relu()


@torch.no_grad()
def split(fn):
    own, library = kernels(code(fn, x))
    return own + library > 1, told(own, library)


norm = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Hardswish(inplace=True))
in_place = beliefs.judge(
    "In-place operations do not fuse",
    {
        "two of them in a chain": split(chain),
        "one writes through a view": split(through_a_view),
        "a norm's result is changed by an activation": split(norm),
    },
)
# claim: in-place-fuses
assert in_place == DOES_NOT


def work(text):
    """The code without comments, numbers of compiles, and checks of its inputs."""
    lines = (line.partition("#")[0].rstrip() for line in text.splitlines())
    return [line for line in lines if line and "assert_size_stride" not in line]


@torch.no_grad()
def same(fn, *args, **options):
    try:
        changed = work(code(fn, *args, **options)) != work(code(fn, *args))
    except torch._dynamo.exc.Unsupported:
        return False, "an error"
    return changed, "other code" if changed else "the same code"


def trained(**options):
    """The code of a training step of the layer, forward and backward."""
    torch._dynamo.reset()
    compiled = torch.compile(layer, **options)
    return work("\n".join(run_fw_bw_and_get_code(lambda: compiled(tokens))[1]))


def breaks(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.relu()


full = beliefs.judge(
    "`fullgraph=True` makes faster code",
    {
        "nothing breaks": same(chain, x, fullgraph=True),
        "it is a transformer layer": same(layer, tokens, fullgraph=True),
        "something breaks": same(breaks, x, fullgraph=True),
    },
)
# claim: fullgraph-makes-the-same-code
assert full == DOES_NOT
step = trained()
assert step == trained()
reduced = beliefs.judge(
    '`mode="reduce-overhead"` changes what is called',
    {
        "it is a chain on a CPU": same(chain, x, mode="reduce-overhead"),
        "it is a transformer layer on a CPU": same(layer, tokens, mode="reduce-overhead"),
        "it is the layer's training step on a CPU": (
            step != trained(mode="reduce-overhead"),
            "other code",
        ),
    },
)
# claim: other-code-in-training-alone
assert reduced == "holds only if it is the layer's training step on a CPU"


def of_complex(fn):
    text = code(fn, torch.complex(x, x))
    own, library = kernels(text)
    handed_on = len(re.findall(r"torch\.ops\.aten\.\w+", text))
    return own == 0, f"{told(own, library)}, {handed_on} of ATen"


def rotary(z):
    """Positions as RoFormer and its followers turn them: pairs of numbers as complex ones."""
    turns = torch.polar(torch.ones(64, 32), torch.arange(32.0).expand(64, 32))
    return torch.view_as_real(torch.view_as_complex(z.real.contiguous().view(64, 32, 2)) * turns)


numbers = beliefs.judge(
    "Complex numbers fall back to eager's kernels",
    {
        "they are multiplied": of_complex(lambda z: z * (z + 1) * 2),
        "they are multiplied, and added": of_complex(lambda z: z * z + z),
        "one is added to itself": of_complex(lambda z: z + z),
        "one is added to its transpose": of_complex(lambda z: z + z.T),
        "they are a transformer's rotary positions": of_complex(rotary),
    },
)
# claim: products-are-handed-on
assert numbers == "holds only if they are multiplied or one is added to its transpose"
beliefs.show()
