"""A runnable as PyTorch prints it, shortened, and what a hostile file would have in it."""

from __future__ import annotations

TEXT = """
import os
os.environ['TORCH_TRACE'] = '/tmp/t'

import torch
from torch import tensor, device
import torch.fx as fx
from torch._dynamo.testing import rand_strided
from math import inf
import torch._inductor.inductor_prims

import torch._dynamo.config
import torch._inductor.config
torch._inductor.config.deterministic = False
torch._functorch.config.unlift_effect_tokens = True

isolate_fails_code_str = None

if "__compile_source__" in globals():
    import inspect as __after_aot_inspect
# torch version: 2.13.0+cpu
torch._higher_order_ops.triton_kernel_wrap.kernel_side_table.reset_table()

from torch.nn import *
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, arg0_1, arg1_1):
        mm = torch.ops.aten.mm.default(arg0_1, arg1_1);  arg0_1 = arg1_1 = None
        mul = torch.ops.aten.mul.Tensor(mm, 2.0)
        relu = torch.ops.aten.relu.default(mul);  mul = None
        sum_1 = torch.ops.aten.sum.dim_IntList(relu, [-1])
        return (relu, sum_1)

def load_args(reader):
    buf0 = reader.storage(None, 512)
    reader.tensor(buf0, (8, 16), is_leaf=True)  # arg0_1
    buf1 = reader.storage(None, 2048)
    reader.tensor(buf1, (16, 32), is_leaf=True)  # arg1_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    run_repro(mod, load_args, accuracy=False, command='run')
"""
_CALL = "torch.ops.aten.mul.Tensor(mm, 2.0)"
_WRITE = "open('MARK', 'w')"
_RETURN = "        return (relu"
_RUN = "run_repro(mod, load_args, accuracy=False, command='run')"
_ATTRIBUTE = "super().__init__()"

#: What the file does → (text in the sample, what stands there instead, part of the cause).
HOSTILE: dict[str, tuple[str, str, str]] = {
    "an import": ("import os\n", "import os\nimport subprocess\n", "subprocess"),
    "an import from": ("import os\n", "from shutil import rmtree\n", "rmtree"),
    "a call at the top": ("mod = Repro()", f"{_WRITE}\nmod = Repro()", "open('MARK', 'w')"),
    "a function of its own": ("mod = Repro()", "def f(): pass\nmod = Repro()", "load_args, f"),
    "a class of its own": ("mod = Repro()", "class A: pass\nmod = Repro()", "Repro, A"),
    "a call in the graph": (_CALL, _WRITE, "open: no operator"),
    "an argument that is a call": ("(mm, 2.0)", f"(mm, {_WRITE})", "open('MARK', 'w')"),
    "a walk over attributes": (_CALL, "().__class__.__base__.__subclasses__()", "__subclasses__"),
    "an attribute of a node": (_CALL, "mm.__class__", "mm.__class__"),
    "an attribute of the module": (_CALL, "self.__dict__", "self.__dict__"),
    "a function of torch": (_CALL, "torch.load('MARK')", "torch.load: no operator"),
    "a name in torch": ("2.0)", "torch.hub.load)", "no constant of PyTorch"),
    "an operator that writes": (_CALL, "torch.ops.aten.from_file.default('MARK')", "from_file"),
    "an unknown operator": (_CALL, "torch.ops.mine.run.default(mm)", "torch.ops.mine.run.default"),
    "a loader of operators": (_CALL, "torch.ops.load_library('MARK')", "torch.ops.load_library"),
    "a loop": (_RETURN, f"        while True: pass\n{_RETURN}", "while True"),
    "a comprehension": (_CALL, f"[{_WRITE} for _ in (1,)]", "[open('MARK'"),
    "a lambda": ("(mm, 2.0)", "(mm, (lambda: 1)())", "lambda"),
    "a formatted text": ("(mm, 2.0)", "(mm, f'{mm}')", "f'{mm}'"),
    "a walrus": ("(mm, 2.0)", "(mm, (x := 2.0))", "x := 2.0"),
    "a default": ("arg1_1):", f"arg1_1={_WRITE}):", "arg1_1=open"),
    "a decorator": ("    def forward", f"    @{_WRITE}\n    def forward", "a decorator"),
    "a statement in __init__": (_ATTRIBUTE, f"{_ATTRIBUTE}\n        self.x = {_WRITE}", "self.x"),
    "a size that is a call": ("(8, 16)", f"({_WRITE}, 16)", "no size"),
    "a size that is huge": ("(8, 16)", "(8 ** 9 ** 9, 16)", "no size"),
    "a setting that is a call": (
        "config.deterministic = False", f"config.deterministic = {_WRITE}", "open('MARK', 'w')"
    ),
    "a setting that nobody knows": (
        "config.deterministic = False", "config.who_knows = True", "no such setting"
    ),
    "groups that are a call": (_RUN, f"setup_fake_process_groups({_WRITE})", "open('MARK', 'w')"),
    "a group of a million": (
        _RUN, "setup_fake_process_groups({'0': {'size': 1000000, 'rank': 0}})", "no process groups"
    ),
    "a group without a size": (
        _RUN, "setup_fake_process_groups({'0': {'rank': 0}})", "no process groups"
    ),
    "a name twice": (_RETURN, f"        mm = mm[0]\n{_RETURN}", "two nodes"),
    "another kind of input": ("reader.tensor(buf0, (8, 16), is_leaf=True)",
                              "reader.opaque('torch')", "reader.opaque"),
    "a text that is cut": ("(relu, sum_1)", "(relu, ", "it is not Python"),
    "deep nesting": ("(mm, 2.0)", f"(mm, {'[' * 5000}{']' * 5000})", "it is"),
    "many signs": ("(mm, 2.0)", f"(mm, {'-' * 50_000}1)", "it is"),
}  # fmt: skip


#: The sample's operator → a collective, with the groups that PyTorch prints for it.
_COLLECTIVE = "torch.ops._c10d_functional.all_gather_into_tensor.default(mm, 4, 'mine')"
SHARED = TEXT.replace(_CALL, _COLLECTIVE).replace(
    _RUN, f"setup_fake_process_groups({{'mine': {{'size': 4, 'rank': 1}}}})\n    {_RUN}"
)


def changed(name: str) -> str:
    """Return the sample with a hostile change, which would write to the file ``MARK``."""
    old, new, _ = HOSTILE[name]
    assert old in TEXT
    return TEXT.replace(old, new, 1)
