"""No C++ compiler: the error, and two ways on.

On the CPU Inductor needs a C++ compiler at run time. Without one the first call fails; the name
of the compiler is simulated here, so that the page can show the error. Name a compiler that exists
(`CXX`), or leave code generation out with `backend="aot_eager"`.
"""
# tclab: needs=cxx

import torch
from torch._inductor import config
from torch._inductor.utils import fresh_cache

import tclab


def f(x):
    return torch.relu(x) + 1.0


x = torch.randn(1000)
message = ""
with fresh_cache(), config.patch({"cpp.cxx": ("no-such-compiler",)}):
    try:
        torch.compile(f)(x)  # before
    except Exception as error:
        message = f"{type(error).__name__}: {error}"

# claim: the-first-call-fails
assert "no-such-compiler" in message or "InvalidCxxCompiler" in message, message
torch.compiler.reset()
fixed = torch.compile(f)(x)  # after: a compiler that exists
without = torch.compile(f, backend="aot_eager")(x)  # or: no code generation at all
# claim: a-compiler-that-exists-mends-it
assert torch.equal(fixed, f(x))
# claim: or-no-code-generation
assert torch.equal(without, f(x))

tclab.show(message.split("\n\n")[0], title="The error", name="error")
