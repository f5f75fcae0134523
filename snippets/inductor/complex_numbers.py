"""Complex numbers under Inductor on a CPU: what is a kernel, and what a call of eager's.

`spectrum` has a Fourier transform between two pieces of real arithmetic, `products` is complex
throughout, and `by_parts` is the same on the real and the imaginary part.
"""
# tclab: needs=cxx timeout=180

import contextlib

import torch
from torch._functorch import config

import tclab

WINDOW = torch.hann_window(16)


def spectrum(x):
    parts = torch.stft(x * 2 + 1, 16, window=WINDOW, return_complex=True)
    return parts.abs() + 1


def products(a, b):
    return a * b * b


def by_parts(a, b):
    (ar, ai), (br, bi) = (torch.view_as_real(z).unbind(-1) for z in (a, b))
    for _ in range(2):
        ar, ai = ar * br - ai * bi, ar * bi + ai * br
    return torch.complex(ar, ai)


def with_the_setting(a, b):
    return products(a, b)


def compiled(fn, *args):
    """Inductor's own kernels, and the calls of eager's; checked against eager."""
    c = tclab.capture(fn)(*args)
    torch.testing.assert_close(c.result, fn(*args))
    calls = [k.kernel_name for k in c.kernels if k.category == "extern"]
    return len(c.kernels) - len(calls), [name.split(".")[-2] for name in calls]


torch.manual_seed(0)
a, b = torch.randn(2, 256, dtype=torch.complex64)
found = {
    "spectrum": compiled(spectrum, torch.randn(2, 64)),
    "products": compiled(products, a, b),
    "by_parts": compiled(by_parts, a, b),
}
SETTING = "enable_complex_wrapper"
there = SETTING in config._config
with config.patch({SETTING: True}) if there else contextlib.nullcontext():
    found["with_the_setting"] = compiled(with_the_setting, a, b)
rows = [(name, kernels, ", ".join(calls)) for name, (kernels, calls) in found.items()]
columns = ("function", "Inductor's kernels", "calls of eager's")
tclab.show(tclab.Table("Complex numbers, compiled", "complex", columns, rows))

# claim: a-complex-product-is-a-call
assert found["products"] == (0, ["mul", "mul"])
# claim: before-and-behind-the-transform-are-kernels
assert found["spectrum"][0] == 2
# claim: transform-and-abs-are-calls
assert {"_fft_r2c", "abs"} <= set(found["spectrum"][1])
# claim: by-parts-it-is-one-kernel
assert found["by_parts"][0] == 1 and "mul" not in found["by_parts"][1]
# claim: the-setting-is-there-from-2-13
assert there == (tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13))
# claim: with-the-setting-it-is-one-kernel
assert found["with_the_setting"][0] == there
