"""The chains that the viewer's tests show."""

from __future__ import annotations

from typing import Any

from tclab.model import Chain, Kernel, KernelFacts, Listing, Resources

#: Lines of the machine code, of which the last two have origins.
LONG = 400


def listing(stage: str, lines: list[str], **more: Any) -> Listing:
    return Listing(f"The {stage}", stage, "\n".join(lines) + "\n", "text", stage, **more)


def chain(machine_lines: int = LONG) -> Chain:
    """Two Python lines: the first ends in kernel 1, the second in kernel 2, PTX and SASS."""
    code = [f"mad {i}" for i in range(1, machine_lines + 1)]
    last = machine_lines
    return Chain(
        "A chain", "chain",
        (
            listing("python", ["y = x + 1", "z = y * 2", "pass"], first_line=5,
                    marks={1: ("py:1",), 2: ("py:2",)}),
            listing("dynamo", ["add", "mul", "return"], links={1: ("py:1",), 2: ("py:2",)},
                    marks={1: ("fx:add",), 2: ("fx:mul",)}),
            Kernel("Kernel 0", "k0", "tmp1 = tmp0 + 1\n", "python", "kernel",
                   links={1: ("fx:add",)}, facts=KernelFacts(resources=Resources(16, 0))),
            Kernel("Kernel 1", "k1", "load\ntmp1 = tmp0 * 2\nstore\n", "python", "kernel",
                   links={2: ("fx:mul",)}, marks={2: ("k:2",)}),
            listing("ptx", code, links={last: ("k:2",), last - 1: ("k:2",)},
                    marks={last: ("ptx",)}),
            listing("sass", code, links={last: ("ptx",)}),
        ), "0/0",
    )  # fmt: skip


#: What a click on the second Python line lights.
SECOND = [
    "python 6", "dynamo 2", "kernel-2 2", f"ptx {LONG - 1}", f"ptx {LONG}", f"sass {LONG}",
]  # fmt: skip

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: f.py:5 in f, code: y = x + 1
        add: "f32[2048, 768][768, 1]cuda:0" = torch.ops.aten.add.Tensor(x, 1)
        return (add,)
"""
SASS = """\t.headerflags\t@"EF_CUDA_SM90"
\t//## File "k.py", line 2
        /*0000*/                   MUFU.EX2 R1, R2 ;
        /*0010*/              @!P0 XYZZY.128 R4, [R2] ;
        /*0020*/                   NOP;
"""


def real() -> Chain:
    """One Python line, a graph with a type, and SASS with directives."""
    panes = (
        listing("python", ["y = x + 1"], marks={1: ("py",)}),
        Listing("Graph", "g", GRAPH, "python", "forward", links={4: ("py",)}, marks={4: ("fx",)}),
        Listing("SASS", "s", SASS, "text", "sass", links={3: ("fx",), 4: ("fx",)}),
    )
    return Chain("Real", "real", panes)


TRITON = """import triton

@triton_heuristics.pointwise(
    size_hints={'x': 8192},
    triton_meta={'signature': {'in_ptr0': '*fp32'}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 8192
    xoffset = tl.program_id(0) * XBLOCK
    x0 = xoffset + tl.arange(0, XBLOCK)[:]
    tmp0 = tl.load(in_ptr0 + (x0), None)
    tmp1 = tmp0 + 1
    tl.store(out_ptr0 + (x0), tmp1, None)
"""


def kernels(count: int = 3, before: int = 60) -> Chain:
    """So many kernels, each of a Python line of its own, with SASS whose first linked instruction
    stands behind so many without a link.
    """
    panes = [listing("python", [f"y{n} = add(x, {n})" for n in range(count)],
                     marks={n + 1: (f"py:{n}",) for n in range(count)})]  # fmt: skip
    for n in range(count):
        # The last three lines come from the reader's, that of x0 from none.
        links = dict.fromkeys((13, 14, 15), (f"py:{n}",))
        panes.append(Kernel(f"Kernel {n}", f"k{n}", TRITON, "python", "kernel", links=links,
                            marks={12: (f"i:{n}",), 14: (f"k:{n}",)},
                            kernel_name=f"triton_{n}"))  # fmt: skip
    for n in range(count):
        code = [f"mov {i}" for i in range(before)] + [f"fadd of {n}"]
        links = {1: (f"i:{n}",), before + 1: (f"k:{n}",)}
        panes.append(listing("sass", code, links=links))
    return Chain("Kernels", "kernels", tuple(panes))


def many(lines: int) -> Chain:
    """Return a Python line that became every third line of a kernel of so many lines."""
    links = dict.fromkeys(range(3, lines + 1, 3), ("py",))
    kernel = listing("kernel", [f"tmp{n} = tmp{n - 1} + 1" for n in range(lines)], links=links)
    return Chain("Many", "many", (listing("python", ["y = f(x)"], marks={1: ("py",)}), kernel))
