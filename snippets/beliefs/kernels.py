"""Beliefs about Inductor: what it lowers to, what fuses, what modes and options change on a CPU."""
# tclab: needs=cxx timeout=240

import re

import torch
from _beliefs import DOES_NOT, Beliefs, count
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import run_and_get_code

beliefs, x = Beliefs("Kernels"), torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
w, b = torch.ones(64, 64) / 64, torch.ones(64)


def code(fn, *args, **options):
    """The wrapper and kernels that Inductor writes; the result must be eager's."""
    torch._dynamo.reset()
    result, sources = run_and_get_code(torch.compile(fn, **options), *args)
    torch.testing.assert_close(result, fn(*args))
    return "\n".join(sources)


def kernels(text):
    """Kernels of its own, and calls of a library."""
    own = len(set(re.findall(r"\bcpp_fused_\w+ = async_compile", text)))
    return own, len(re.findall(r"^\s+extern_kernels\.\w+\(", text, re.MULTILINE))


def told(own, library):
    return f"{count(own, 'kernel')}, {count(library, 'library call')}"


table = set(select_decomp_table())
core = set(torch._decomp.core_aten_decompositions())
lowering = beliefs.judge(
    "Inductor lowers to Core ATen",
    {
        "its decompositions are those of Core ATen": (
            table == core,
            f"{len(table):,} against {len(core):,}, {len(core - table)} left out",
        )
    },
)
# claim: its-table-is-another
assert lowering == DOES_NOT


def linear(x, w, b):
    return torch.relu(x @ w + b)


def fused(**options):
    own, library = kernels(code(linear, x, w, b, **options))
    return own + library == 1, told(own, library)


products = beliefs.judge(
    "A product, a bias and a ReLU are one kernel",
    {
        "no option is set, on a CPU": fused(),
        "max_autotune, on a CPU": fused(options={"max_autotune": True}),
    },
)
# claim: the-product-is-a-call
assert products == DOES_NOT


def chain(x):
    y = x.sin()
    y.add_(1)
    y.mul_(2)
    return y.relu()


own, library = kernels(code(chain, x))
in_place = beliefs.judge(
    "In-place operations do not fuse",
    {"three of them in a chain": (own + library > 1, told(own, library))},
)
# claim: in-place-fuses
assert in_place == DOES_NOT


def work(text):
    """The code without comments, numbers of compiles, and checks of its inputs."""
    lines = (line.partition("#")[0].rstrip() for line in text.splitlines())
    return [line for line in lines if line and "assert_size_stride" not in line]


def same(fn, **options):
    changed = work(code(fn, x, **options)) != work(code(fn, x))
    return changed, "other code" if changed else "the same code"


full = beliefs.judge(
    "`fullgraph=True` makes faster code", {"nothing breaks": same(chain, fullgraph=True)}
)
# claim: fullgraph-makes-the-same-code
assert full == DOES_NOT
graphs = beliefs.judge(
    '`mode="reduce-overhead"` changes what is called',
    {"it runs on a CPU": same(chain, mode="reduce-overhead")},
)
# claim: no-cuda-graphs-on-a-cpu
assert graphs == DOES_NOT


def of_complex(fn):
    text = code(fn, torch.complex(x, x))
    own, library = kernels(text)
    handed_on = len(re.findall(r"torch\.ops\.aten\.\w+", text))
    return own == 0, f"{told(own, library)}, {handed_on} of ATen"


numbers = beliefs.judge(
    "Complex numbers fall back to eager's kernels",
    {
        "they are multiplied": of_complex(lambda z: z * (z + 1) * 2),
        "two tensors of them are added": of_complex(lambda z: z + z),
    },
)
# claim: complex-is-handed-on
assert numbers == "holds only if they are multiplied"
beliefs.show()
