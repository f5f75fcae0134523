"""What is not guarded: environment variables, and hooks added later.

Not everything that can change is checked. An environment variable that is not set is read once,
while Dynamo traces: no guard says that it must stay unset. The value of one that is set is guarded
where it is read from `os.environ`, and not with `os.getenv`. PyTorch leaves some guards out on
purpose: a forward hook added to a module after its first
compiled call is not called, and nothing is recompiled. A hook that is there before is traced like
any code. Setting `skip_nnmodule_hook_guards` to False before the first call brings the check back.
"""

import os

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def asks_environ(x):
    return x + 100 if os.environ.get("LAB_ADD_100") == "yes" else x + 1


def asks_getenv(x):
    return x + 100 if os.getenv("LAB_ADD_100") == "yes" else x + 1


def asks_contains(x):
    return x + 100 if "LAB_ADD_100" in os.environ else x + 1


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())


def add_hook(fn):
    fn[0].register_forward_hook(lambda module, args, output: output * 100)


def set_variable(fn, value="yes"):
    os.environ["LAB_ADD_100"] = value


def heeded(fn, change, value=None, x=torch.ones(4)):
    """Graphs made, and whether the compiled code does as eager after the change."""
    os.environ.pop("LAB_ADD_100", None)
    if value:
        set_variable(fn, value)
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=(counter := CompileCounter()))
    compiled(x + 0)
    change(fn)
    return counter.frame_count, torch.equal(compiled(x + 0), fn(x + 0))


early = model()
add_hook(early)
rows = [(f"the variable, in {fn.__name__}", "", *heeded(fn, set_variable))
        for fn in (asks_environ, asks_getenv, asks_contains)]  # fmt: skip
rows.append(("a hook added after the first call", "", *heeded(model(), add_hook)))
rows.append(("a hook added before it", "", *heeded(early, lambda fn: None)))
with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):
    option = "skip_nnmodule_hook_guards=False"
    rows.append(("a hook added after the first call", option, *heeded(model(), add_hook)))
rows += [(f"the variable, set before, in {fn.__name__}", "", *heeded(fn, set_variable, "no"))
         for fn in (asks_environ, asks_getenv)]  # fmt: skip

# claim: variables-are-read-once
assert [row[2:] for row in rows[:3]] == [(1, False)] * 3
# claim: one-that-was-set-is-guarded-in-os-environ
assert rows[6][2:] == (1, True)
# claim: and-not-with-getenv
assert rows[7][2:] == (1, False)
# claim: a-later-hook-is-ignored
assert rows[3][2:] == (1, False)
# claim: an-early-hook-works
assert rows[4][3]
# claim: the-option-brings-the-check-back
assert rows[5][3]

columns = ("what changes", "option", "graphs before", "heeded")
tclab.show(tclab.Table("Changes after the first call", "changes", columns, rows))
