"""Beliefs about compiled modules: ways to compile one, hooks, weights, modes, checkpoints."""
# tclab: needs=cxx timeout=900

import torch
from _beliefs import DOES_NOT, HOLDS, VERSION, Beliefs, count, transformer_layer
from torch._dynamo.testing import CompileCounter

beliefs, x, tokens = Beliefs("Modules"), torch.ones(2, 4), torch.linspace(-1, 1, 128).cos()
tokens = tokens.reshape(2, 4, 16)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.drop = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)

    def forward(self, x):
        return torch.relu(self.drop(self.lin(x)))


def installed(module, x=x):
    """The module after `module.compile()`, and the counter of its graphs."""
    torch._dynamo.reset()
    counter = CompileCounter()
    module.compile(backend=counter)
    module(x)
    return module, counter.frame_count


def wrapped(module, backend="eager", x=x, **config):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(config):
        compiled = torch.compile(module, backend=backend)
        compiled(x)
    return compiled


block, graphs = installed(Block())
linear, none = installed(torch.nn.Linear(4, 4))
layer, layers = installed(transformer_layer(), tokens)
same = beliefs.judge(
    "`m.compile()` compiles what `torch.compile(m)` compiles",
    {
        "the class is one of your own": (graphs == 1, count(graphs, "graph")),
        "it is a bare nn.Linear": (none == 1, count(none, "graph")),
        "it is a bare nn.TransformerEncoderLayer": (layers == 1, count(layers, "graph")),
    },
)
if VERSION < (2, 14):
    # claim: a-bare-layer-is-not-compiled, torch < 2.14
    assert same == "holds only if the class is one of your own"
if VERSION >= (2, 14):
    # claim: a-bare-layer-is-compiled, torch >= 2.14
    assert same == HOLDS


def replaced(module):
    own = vars(module).get("_call_impl") or type(module)._call_impl
    sets = "sets" if vars(module).get("_compiled_call_impl") else "sets no"
    return own is not torch.nn.Module._call_impl, f"{sets} _compiled_call_impl"


inside = wrapped(Block())._orig_mod
impl = beliefs.judge(
    "Compiling a module replaces its `_call_impl`",
    {
        "m.compile()": replaced(block),
        "torch.compile(m)": replaced(inside),
        "m.compile() of a transformer layer": replaced(layer),
    },
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
        "it is m.compile() of a transformer layer": renamed(layer),
    },
)
# claim: only-the-wrapper-renames
assert names == "holds only if it is torch.compile(m) or it is torch.compiler.disable(m)"


def hooked(make=lambda: torch.nn.Sequential(torch.nn.Linear(4, 4)), x=x, **config):
    """Whether a hook on the first linear layer is called."""
    module, called = make(), []
    compiled = wrapped(module, x=x, **config)
    layer = next(each for each in module.modules() if isinstance(each, torch.nn.Linear))
    layer.register_forward_hook(lambda m, args, out: called.append(1))
    with torch._dynamo.config.patch(config):
        compiled(x)
    return bool(called), "called" if called else "not called"


def feed_forward():
    """The half of a transformer's layer that has linear layers of its own."""
    layer = transformer_layer()
    return torch.nn.Sequential(layer.norm2, layer.linear1, torch.nn.ReLU(), layer.linear2)


hooks = beliefs.judge(
    "A hook that is added after the first call is called",
    {
        "no option is set": hooked(),
        "no option is set, of a transformer's feed-forward": hooked(feed_forward, tokens),
        "skip_nnmodule_hook_guards is False": hooked(skip_nnmodule_hook_guards=False),
    },
)
# claim: a-later-hook-is-not-called
assert hooks == "holds only if skip_nnmodule_hook_guards is False"


def dropped(module, x, backend="eager", inner=False):
    """Whether dropout acts after a first call in training and then `eval()`."""
    compiled = wrapped(module, backend, x)
    (module if inner else compiled).eval()
    acts = not torch.allclose(compiled(x), module(x), atol=1e-6)
    return acts, "dropout on" if acts else "dropout off"


late = beliefs.judge(
    "`eval()` must come before `torch.compile`, or dropout stays on",
    {
        "eval() of what was compiled comes after the first call": dropped(Block(), x),
        "eval() of the module inside comes then": dropped(Block(), x, inner=True),
        "a transformer layer, with Inductor": dropped(
            transformer_layer(dropout=0.5), tokens, "inductor"
        ),
    },
)
# claim: eval-is-heeded
assert late == DOES_NOT


@torch.no_grad()
def ignores(backend, module=None, x=x, **options):
    """Whether a weight that is changed after a call in `eval()` is not seen by the next."""
    module = (module or Block()).eval()
    with torch._inductor.config.patch(options):
        compiled = wrapped(module, backend, x)
        before = compiled(x)
        next(module.parameters()).add_(1)
        after = compiled(x)
    frozen = torch.equal(after, before)
    assert frozen or torch.allclose(after, module(x), rtol=1e-4, atol=1e-4)
    return frozen, "old result" if frozen else "new result"


weights = beliefs.judge(
    "Weights that change after the first call in `eval()` and `no_grad` are ignored",
    {
        "the backend is eager": ignores("eager"),
        "the backend is inductor": ignores("inductor"),
        "it is inductor, of a transformer's norm": ignores("inductor", feed_forward(), tokens),
        "freezing is on, of a linear layer": ignores("inductor", freezing=True),
        "freezing is on, of a transformer's norm": ignores(
            "inductor", feed_forward(), tokens, freezing=True
        ),
        "freezing is on, of an embedding": ignores(
            "inductor", torch.nn.Embedding(4, 16), torch.arange(4), freezing=True
        ),
    },
)
# claim: new-weights-are-used
assert weights == "holds only if freezing is on, of a linear layer"


def training(*modules):
    flag = any(module.training for module in modules)
    return flag, f"training is {flag}"


calm = wrapped(Block().eval())
deep = wrapped(transformer_layer().eval(), x=tokens)
mode = beliefs.judge(
    "`torch.compile` puts a model back into training mode",
    {
        "the model was in eval(), and is wrapped": training(calm, calm._orig_mod),
        "it is m.compile()": training(installed(Block().eval())[0]),
        "it is a transformer layer": training(*deep.modules()),
    },
)
# claim: the-mode-stays
assert mode == DOES_NOT
beliefs.show()
