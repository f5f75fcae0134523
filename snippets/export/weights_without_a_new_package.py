"""Other weights for a package that is made already: copied into it, or read from the caller.

One package, loaded once. Each row gives it weights and compares its result with eager's.
"""
# tclab: needs=cxx timeout=240

import tempfile

import torch
from torch import nn

import tclab


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


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
with tempfile.TemporaryDirectory() as folder:
    path = torch._inductor.aoti_compile_and_package(
        torch.export.export(model, (x,)),
        package_path=f"{folder}/model.pt2",
        inductor_configs={"aot_inductor.compile_wrapper_opt_level": "O0"},  # compiles faster
    )
    loaded = torch._inductor.aoti_load_package(path)
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
tclab.show(tclab.Table(
    title="Weights given, and the result", name="weights", columns=("what was given", "result"),
    rows=list(found.items()),
))  # fmt: skip
every, later, own, followed, missing, one, unknown, double, long = found.values()

# claim: it-names-its-weights
assert set(names) == whole.keys()
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
