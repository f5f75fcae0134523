"""float8 on a CPU: what Inductor writes, and what it hands on.

A cast and back, between two operations; a scaled product, `torch._scaled_mm`, with the second
matrix in columns or in rows; an addition of two float8 tensors.
"""
# tclab: needs=cxx

import torch

import tclab

EIGHT = torch.float8_e4m3fn


def cast(x):
    return (x * 2).to(EIGHT).float() + 1


def product(a, b, scale):
    return torch._scaled_mm(a, b, scale, scale, out_dtype=torch.bfloat16)


def added(a):
    return a + a


def answer(call, *args):
    """The result, or the error's text."""
    try:
        return call(*args)
    except Exception as error:
        return str(error)


torch.manual_seed(0)
x, scale = torch.randn(64, 64), torch.tensor(0.5)
a = x.to(EIGHT)
in_columns, in_rows = a.t(), a.t().contiguous()
compiled = tclab.capture(cast)(x)
(kernel,) = compiled.kernels
tclab.show(kernel, name="cast")
scaled = tclab.capture(product)(a, in_columns, scale)

# claim: a-cast-is-inside-the-kernel
assert "Float8_e4m3fn" in kernel.code and torch.equal(compiled.result, cast(x))
# claim: the-cast-rounds
assert not torch.equal(cast(x), x * 2 + 1)
# claim: a-scaled-product-is-handed-on
assert "extern_kernels._scaled_mm(" in scaled.wrapper[0].code
assert "cpp_fused" not in scaled.wrapper[0].code and "cpp_fused" in compiled.wrapper[0].code
# claim: with-eagers-result
assert torch.equal(scaled.result, product(a, in_columns, scale))
refused = answer(torch.compile(product), a, in_rows, scale)
# claim: compiled-wants-the-second-in-columns
assert isinstance(answer(product, a, in_rows, scale), torch.Tensor) and "col_major" in refused
eager, written = answer(added, a), answer(torch.compile(added), a)
# claim: eager-adds-no-float8-and-inductor-does
assert "not implemented" in eager
assert torch.equal(written.float(), (a.float() * 2).to(EIGHT).float())
