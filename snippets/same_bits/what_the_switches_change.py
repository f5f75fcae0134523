"""What switches for determinism change in Inductor's code, and what in Inductor asks for them.

The function adds 4,096 numbers into eight, many into each; it is compiled for this CPU and two
threads. The second table is read from the source of the installed PyTorch.
"""
# tclab: needs=cxx timeout=180

from pathlib import Path

import torch
from torch._inductor import config
from torch._inductor.runtime.benchmarking import benchmarker
from torch._inductor.utils import run_and_get_code

import tclab


def add_into(x, index, values):
    return x.index_put((index,), values, accumulate=True)


def compiled():
    """The result and the code."""
    torch._dynamo.reset()
    result, (code,) = run_and_get_code(torch.compile(add_into), *inputs)
    return result, code


def uninitialized():
    return torch.empty(4) + 1


def refusal():
    """What Inductor says where it is to take a time."""
    try:
        benchmarker.benchmark_gpu(lambda: None)
    except Exception as error:
        return str(error)
    return ""


def asked(text):
    """The modules of Inductor in which the text stands."""
    folder = Path(config.__file__).parent
    files = sorted(folder.rglob("*.py"))
    return {str(file.relative_to(folder)) for file in files if text in file.read_text()}


torch.set_num_threads(2)
torch.manual_seed(0)
inputs = torch.zeros(8), torch.randint(0, 8, (4096,)), torch.randn(4096)
plain, code = compiled()
by_default = config.deterministic
torch.use_deterministic_algorithms(True)
with_the_switch = config.deterministic
eager = add_into(*inputs)
result, code_on = compiled()
empty, empty_compiled = uninitialized(), torch.compile(uninitialized)()
torch.use_deterministic_algorithms(False)
with config.patch(deterministic=True):
    said = refusal()
    _, code_deterministic = compiled()

# claim: by-default-it-adds-atomically
assert "atomic_add" in code and "aten.index_put_" not in code
# claim: switched-on-it-calls-the-library
assert "atomic_add" not in code_on and "aten.index_put_" in code_on
# claim: which-has-eagers-bits
assert torch.equal(result, eager) and torch.allclose(plain, eager, atol=1e-3)
# claim: uninitialised-memory-is-filled
assert empty.isnan().all() and empty_compiled.isnan().all()
# claim: inductors-own-leaves-the-atomic-add
assert "atomic_add" in code_deterministic
# claim: inductors-own-is-off-by-default
assert by_default is False
# claim: the-switch-sets-it
assert with_the_switch is True and config.deterministic is False
# claim: inductors-own-refuses-to-time
assert "deterministic mode" in said

ASKED = ("torch.are_deterministic_algorithms_enabled", "config.deterministic", "batch_invariant")
who = {text: asked(text) - {"config.py"} for text in ASKED}
general, own, batch = who.values()
# claim: padding-and-choices-by-time-ask-for-it
assert {"fx_passes/pad_mm.py", "select_algorithm.py"} <= own
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13):
    # claim: there-is-no-batch-invariant, torch < 2.13
    assert not batch and not hasattr(config, "batch_invariant")
else:
    # claim: batch-invariant-is-off-by-default, torch >= 2.13
    assert config.batch_invariant is False
if tuple(map(int, torch.__version__.split(".")[:2])) == (2, 13):
    # claim: only-what-writes-and-launches-triton-asks, torch == 2.13
    assert batch == {"codegen/triton.py", "runtime/triton_heuristics.py"}
modules = sorted(set().union(*who.values()))
rows = [(module, *(module in found for found in who.values())) for module in modules]
tclab.show(tclab.Table("Modules of Inductor that ask", "asked", ("module", *ASKED), rows))
