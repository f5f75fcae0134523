"""The languages in which Inductor can write a kernel, and what it says where a package is missing.

`cpu_backend` is set to each of its values, and to a word that is none. A product is compiled with
names in `max_autotune_gemm_backends` that have nothing to offer for a CPU. Halide's package and JAX
are not installed here, and there is no GPU: the last function is compiled for an H200.
"""
# tclab: needs=cxx,triton timeout=300

import importlib.util
import inspect
import logging
import re
import sys
from pathlib import Path

import torch
import torch._inductor.config as inductor
from torch._inductor import utils
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import tclab

for name in ("torch._inductor.scheduler", "torch._higher_order_ops.triton_kernel_wrap"):
    logging.getLogger(name).addFilter(lambda record: False)


def doubled(x):
    return torch.relu(x) * 2


def product(a, b):
    return a @ b


def compiled(fn, *args, **settings):
    """Inductor's code and an empty text, or an empty text and the error."""
    torch._dynamo.reset()
    try:
        with inductor.patch(settings), tclab.capture() as c:
            torch.testing.assert_close(torch.compile(fn)(*args), fn(*args))
    except torch._dynamo.exc.BackendCompilerFailed as error:
        return "", next(line for line in str(error).splitlines() if line)
    return c.wrapper[0].code, ""


x, a = torch.randn(64), torch.randn(16, 16)
LANGUAGES = ("cpp", "triton", "halide", "pallas", "no_such_name")
found = {word: compiled(doubled, x, cpu_backend=word) for word in LANGUAGES}
rows = [(word, error or "a kernel") for word, (_, error) in found.items()]
tclab.show(tclab.Table("doubled(x) on a CPU", "languages", ("cpu_backend", "what comes"), rows))

# claim: the-languages-by-default
assert (inductor.cpu_backend, inductor.cuda_backend) == ("cpp", "triton")
assert (inductor.xpu_backend, inductor.tpu_backend) == ("triton", "pallas")
# claim: cpp-is-written-here
assert "async_compile.cpp" in found["cpp"][0]
in_cpp, _ = compiled(doubled, x, cpp_wrapper=True)
# claim: not-with-a-wrapper-in-cpp
assert "cpp_fused_" in in_cpp and "async_compile" not in in_cpp
# claim: triton-wants-a-driver
assert "0 active drivers" in found["triton"][1]
# claim: halide-wants-its-package
assert importlib.util.find_spec("halide") is None
assert "halide python bindings not installed" in found["halide"][1]
# claim: pallas-wants-jax
assert "No module named 'jax'" in found["pallas"][1]
# claim: another-word-is-an-error-of-the-compile
assert "KeyError: 'no_such_name'" in found["no_such_name"][1]

SOURCE = inspect.getsource(inductor)
# claim: four-words-for-a-cpu-three-for-a-gpu
assert 'cpu_backend: Literal["cpp", "triton", "halide", "pallas"]' in SOURCE
assert 'cuda_backend: Literal["triton", "halide", "pallas"]' in SOURCE
OFFERED = set(re.findall(r'_use_autotune_backend\("(\w+)"\)', inspect.getsource(utils)))
by_default = set(inductor.max_autotune_gemm_backends.split(","))
# claim: three-names-by-default
assert by_default == {"ATEN", "TRITON", "CPP"}
# claim: five-more-have-to-be-named
assert OFFERED - by_default - {"FLYDSL"} == {"CUTLASS", "CUTEDSL", "NVGEMM", "CK", "CKTILE"}
# claim: flydsl-is-new
assert ("FLYDSL" in OFFERED) == (torch.__version__ >= "2.15")
GPU_ONLY = ("CUTLASS,CUTEDSL,NVGEMM,CK,CKTILE", "NO_SUCH_NAME", "CUTLASS,NO_SUCH_NAME,ATEN")
*alone, with_aten = [
    compiled(product, a, a, max_autotune_gemm=True, max_autotune_gemm_backends=names)
    for names in GPU_ONLY
]
# claim: with-aten-they-are-left-out-silently
assert "extern_kernels.mm" in with_aten[0] and not with_aten[1]
# claim: without-aten-it-is-an-error
assert all("No choices to select" in error for _, error in alone)


looked_for = set()


class Looks:
    """Notes which packages Python is asked for."""

    def find_spec(self, name, path=None, target=None):
        looked_for.add(name)


checks = utils.ensure_cute_available, utils.ensure_nv_universal_gemm_available
sys.meta_path.insert(0, Looks())
available = [check.__wrapped__() for check in checks]
# claim: cute-is-looked-for-as-a-package
assert "cutlass" in looked_for and available == [False, False]
sys.meta_path.pop(0)

files = {path: path.read_text() for path in Path(torch._inductor.__file__).parent.rglob("*.py")}
written = {word: sum(word in text for text in files.values()) for word in ("pallas", "gluon")}
# claim: no-file-of-inductor-names-gluon
assert written["gluon"] == 0 < written["pallas"]


@gluon.jit
def twice(x_ptr, out_ptr, SIZE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.program_id(0) * SIZE + gl.arange(0, SIZE, layout=layout)
    gl.store(out_ptr + at, 2.0 * gl.load(x_ptr + at))


def launched(x):
    out = torch.empty_like(x)
    twice[(x.numel() // 128,)](x, out, SIZE=128)
    return torch.relu(out)


c = tclab.capture(launched, target="h200")(torch.randn(4096))
code = next(kernel.code for kernel in c.kernels if "twice" in kernel.kernel_name)
# claim: a-kernel-of-yours-stands-there-too
assert "async_compile.triton('twice'" in c.wrapper[0].code
# claim: a-gluon-kernel-is-written-as-triton
assert not c.breaks and "@triton.jit\ndef twice(" in code and "@gluon" not in code
try:
    compiles = bool(c.compile_kernels())
except NameError as error:
    compiles = "'gl'" not in str(error)
# claim: which-does-not-compile
assert not compiles
