"""What each level costs when every operator is a kernel of its own.

Each graph is run operator by operator. What it makes anew is a kernel: it reads its inputs from
memory and writes its result there; a view moves nothing. The last row is what Inductor makes of
the same call: kernels that were fused, with the inputs read and the result written.
"""

import torch
import torch.nn.functional as F
from _levels import levels

import tclab


class OneKernelEach(torch.fx.Interpreter):
    """Runs a graph node by node, and counts what was made and the bytes that moved."""

    kernels = moved = 0

    def call_function(self, target, args, kwargs):
        result = super().call_function(target, args, kwargs)
        read = {
            t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
            for t in args
            if isinstance(t, torch.Tensor)
        }
        results = result if isinstance(result, tuple) else (result,)
        new = {
            t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
            for t in results
            if isinstance(t, torch.Tensor)
        }
        if isinstance(target, torch._ops.OpOverload) and not new.keys() <= read.keys():
            self.kernels += 1
            self.moved += sum((read | new).values())
        return result


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm(x):
    return F.layer_norm(x, (1024,))


x = torch.randn(256, 1024)
rows = {}
for fn in (softmax, layer_norm):
    exact, size = fn(x.double()).float(), 2 * x.nbytes
    for level, graph in levels(fn, x).items():
        run = OneKernelEach(graph)
        torch.testing.assert_close(run.run(x), exact, atol=1e-5, rtol=1e-4)
        rows[fn.__name__, level] = (run.kernels, run.moved / size)
    c = tclab.capture(fn)(x)
    torch.testing.assert_close(c.result, exact, atol=1e-5, rtol=1e-4)
    rows[fn.__name__, "fused"] = (len(c.kernels), None)  # not counted: no tensor lies between

tclab.show(
    tclab.Table(
        title="One kernel for each operator",
        name="cost",
        columns=("call", "kernels", "moved"),
        units=("", "", "× input and result"),
        formats=("", "d", ".1f"),
        rows=[(", ".join(key), *row) for key, row in rows.items()],
    )
)
kernels, moved = ({key: row[i] for key, row in rows.items()} for i in range(2))

# claim: aten-is-one-kernel
assert {kernels[fn, level] for fn, level in kernels if level in ("ATen", "Core ATen")} == {1}
# claim: below-it-is-one-for-each-operator
assert all(kernels[fn, "Inductor"] >= 5 <= kernels[fn, "Prims"] for fn in ("softmax", "layer_norm"))
# claim: memory-traffic-grows
assert all(moved[fn, "Prims"] > 1.5 * moved[fn, "ATen"] for fn in ("softmax", "layer_norm"))
# claim: fused-is-one-kernel-again
assert kernels["softmax", "fused"] == kernels["layer_norm", "fused"] == 1
