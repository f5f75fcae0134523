"""Beliefs about compiled modules: ways to compile one, hooks, weights, modes, checkpoints."""
# tclab: needs=cxx timeout=400

import torch
from _beliefs import DOES_NOT, HOLDS, VERSION, Beliefs, count
from torch._dynamo.testing import CompileCounter

beliefs, x = Beliefs("Modules"), torch.ones(2, 4)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.drop = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)

    def forward(self, x):
        return torch.relu(self.drop(self.lin(x)))


def installed(module):
    """The module after `module.compile()`, and the counter of its graphs."""
    torch._dynamo.reset()
    counter = CompileCounter()
    module.compile(backend=counter)
    module(x)
    return module, counter.frame_count


def wrapped(module, backend="eager", **config):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(config):
        compiled = torch.compile(module, backend=backend)
        compiled(x)
    return compiled


block, graphs = installed(Block())
linear, none = installed(torch.nn.Linear(4, 4))
same = beliefs.judge(
    "`m.compile()` compiles what `torch.compile(m)` compiles",
    {
        "the class is one of your own": (graphs == 1, count(graphs, "graph")),
        "it is a bare nn.Linear": (none == 1, count(none, "graph")),
    },
)
if VERSION < (2, 14):
    # claim: a-bare-layer-is-not-compiled, torch < 2.14
    assert same == "holds only if the class is one of your own"
if VERSION >= (2, 14):
    # claim: a-bare-layer-is-compiled, torch >= 2.14
    assert same == HOLDS
replaced = "_call_impl" in vars(block) or Block._call_impl is not torch.nn.Module._call_impl
impl = beliefs.judge(
    "Compiling a module replaces its `_call_impl`",
    {"m.compile()": (replaced, "sets _compiled_call_impl" if block._compiled_call_impl else "")},
)
# claim: call-impl-stays
assert impl == DOES_NOT and block._compiled_call_impl is not None


def renamed(module):
    return any(k.startswith("_orig_mod.") for k in module.state_dict()), [*module.state_dict()][0]


names = beliefs.judge(
    "A compiled model's checkpoint has other names",
    {
        "it is torch.compile(m)": renamed(wrapped(Block())),
        "it is torch.compiler.disable(m)": renamed(torch.compiler.disable(Block())),
        "it is m.compile()": renamed(block),
    },
)
# claim: only-the-wrapper-renames
assert names == "holds only if it is torch.compile(m) or it is torch.compiler.disable(m)"


def hooked(**config):
    module = torch.nn.Sequential(torch.nn.Linear(4, 4))
    compiled = wrapped(module, **config)
    module[0].register_forward_hook(lambda m, args, out: out * 0)
    with torch._dynamo.config.patch(config):
        ran = bool((compiled(x) == 0).all())
    return ran, "called" if ran else "not called"


hooks = beliefs.judge(
    "A hook that is added after the first call is called",
    {
        "no option is set": hooked(),
        "skip_nnmodule_hook_guards is False": hooked(skip_nnmodule_hook_guards=False),
    },
)
# claim: a-later-hook-is-not-called
assert hooks == "holds only if skip_nnmodule_hook_guards is False"

module = Block()
compiled = wrapped(module)
compiled.eval()
ignored = not torch.equal(compiled(x), module(x))
late = beliefs.judge(
    "`eval()` must come before `torch.compile`, or dropout stays on",
    {"eval() comes after the first call": (ignored, "dropout on" if ignored else "dropout off")},
)
# claim: eval-is-heeded
assert late == DOES_NOT


@torch.no_grad()
def ignores(backend, **options):
    """Whether a weight that is changed after a call in `eval()` is not seen by the next."""
    module = Block().eval()
    with torch._inductor.config.patch(options):
        compiled = wrapped(module, backend)
        before = compiled(x)
        module.lin.weight += 1
        after = compiled(x)
    frozen = torch.equal(after, before)
    assert frozen or torch.allclose(after, module(x), atol=1e-6)
    return frozen, "old result" if frozen else "new result"


weights = beliefs.judge(
    "Weights that change after the first call in `eval()` and `no_grad` are ignored",
    {
        "the backend is eager": ignores("eager"),
        "the backend is inductor": ignores("inductor"),
        "it is inductor, with freezing": ignores("inductor", freezing=True),
    },
)
# claim: new-weights-are-used
assert weights == "holds only if it is inductor, with freezing"
flag = wrapped(Block().eval()).training
mode = beliefs.judge(
    "`torch.compile` puts a model back into training mode",
    {"the model was in eval()": (flag, f"training is {flag}")},
)
# claim: the-mode-stays
assert mode == DOES_NOT
beliefs.show()
