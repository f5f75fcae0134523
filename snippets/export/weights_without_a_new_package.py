"""Other weights for a package that is made already: copied into it, or read from the caller.

Each row gives a package weights and compares its result with eager's. All rows but the last two are
of one package, made with `always_keep_tensor_constants`. The last two are of one made without: it
has the head's bias of eight numbers in its code, and the norm's nine among its weights.
"""
# tclab: needs=cxx timeout=240

import tempfile

import torch
from torch import nn

import tclab


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.head = nn.Linear(16, 9), nn.LayerNorm(9), nn.Linear(9, 8)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.linear(x))))


def packaged(**options):
    """A package of `model`, loaded."""
    options["aot_inductor.compile_wrapper_opt_level"] = "O0"  # compiles faster
    with tempfile.TemporaryDirectory() as folder:
        path = torch._inductor.aoti_compile_and_package(
            torch.export.export(model, (x,)),
            package_path=f"{folder}/model.pt2",
            inductor_configs=options,
        )
        return torch._inductor.aoti_load_package(path)


def said(weights, model, **options):
    """What the package's result is after it was given `weights`: that of `model`, or an error."""
    try:
        loaded.load_constants(weights, **options)
    except RuntimeError as error:
        return "an error: " + str(error).split(" API call")[0].splitlines()[0][:60]
    return "right" if torch.allclose(loaded(x), model(x), atol=1e-5) else "wrong, without a word"


torch.manual_seed(0)
torch.set_grad_enabled(False)
model, other, third, x = Model().eval(), Model().eval(), Model().eval(), torch.randn(8, 16)
loaded = packaged(always_keep_tensor_constants=True)
names, whole, part = loaded.get_constant_fqns(), other.state_dict(), third.state_dict()
bias = {"linear.bias": part["linear.bias"]}
found = {"all weights of another model": said(whole, other, check_full_update=True)}
with tclab.capture() as c:
    other.norm.bias += 1
    found["changed by the caller afterwards"] = said({}, other, check_full_update=False)
    found["the same, user_managed=True"] = said(
        other.state_dict(), other, check_full_update=True, user_managed=True
    )
    other.norm.bias += 1
    managed = torch.allclose(loaded(x), other(x), atol=1e-5)
found["changed by the caller, user_managed"] = "right" if managed else "wrong, without a word"
found["one of them, all asked for"] = said(bias, other, check_full_update=True)
other.linear.bias.copy_(bias["linear.bias"])
found["one of them"] = said(bias, other, check_full_update=False)
found["a name that it has not"] = said({"gone": x}, other, check_full_update=False)
for what, wrong in (("in float64", bias["linear.bias"].double()), ("too long", torch.ones(32))):
    found[f"one {what}"] = said({"linear.bias": wrong}, other, check_full_update=False)
loaded = packaged()
by_default = loaded.get_constant_fqns()
named = {name: weight for name, weight in part.items() if name in by_default}
found["by default: all weights of another"] = said(part, third, check_full_update=True)
found["by default: those that it names"] = said(named, third, check_full_update=True)
tclab.show(tclab.Table(
    title="Weights given, and the result", name="weights", columns=("what was given", "result"),
    rows=list(found.items()),
))  # fmt: skip
every, later, own, followed, missing, one, unknown, double, long, short, but_short = found.values()

# claim: it-names-its-weights
assert set(names) == whole.keys()
# claim: by-default-a-short-vector-is-in-the-code
assert whole.keys() - by_default == {"head.bias"} and whole["head.bias"].numel() == 8
assert "norm.bias" in by_default and whole["norm.bias"].numel() == 9
# claim: given-it-is-an-error
assert "Constant not found: head.bias" in short
# claim: without-it-the-result-is-wrong
assert but_short == "wrong, without a word"
# claim: new-weights-without-a-compile
assert every == "right" and not c.graphs and not c.kernels
# claim: they-are-copied
assert later == "wrong, without a word"
# claim: or-read-from-the-caller
assert own == followed == "right"
# claim: one-alone-where-not-all-are-asked-for
assert missing.startswith("an error") and one == "right"
# claim: a-name-is-checked
assert "Constant not found" in unknown
# claim: a-dtype-and-a-size-are-not
assert double == long == "wrong, without a word"
