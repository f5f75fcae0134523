"""The backward of a layer that computes in full precision inside of autocast.

The error of the weight's gradient against float64, relative to its largest value: eager and
compiled, with `backward()` called under autocast and after it. A compiled backward runs under the
autocast that was on in the forward, wherever it is called, unless a setting says otherwise.
"""
# tclab: needs=cxx timeout=180

import torch
from torch._functorch import config

import tclab


class Layer(torch.nn.Module):
    def __init__(self, full):
        super().__init__()
        torch.manual_seed(0)
        self.weight, self.full = torch.nn.Parameter(torch.randn(64, 64)), full

    def forward(self, x):
        with torch.autocast("cpu", enabled=not self.full):
            return x.float() @ self.weight


def gradient(layer, call, under):
    torch.manual_seed(1)
    x = torch.randn(32, 64)
    with torch.autocast("cpu", torch.bfloat16):
        loss = call(x).square().mean()
        if under:
            loss.backward()
    if not under:
        loss.backward()
    weight = layer.weight.detach().double().requires_grad_()
    (x.double() @ weight).square().mean().backward()
    return ((layer.weight.grad - weight.grad).abs().max() / weight.grad.abs().max()).item()


def errors(full, setting=None):
    """The errors with `backward()` under autocast and after it; compiled where a setting is."""
    found = []
    for under in (True, False):
        layer = Layer(full)
        torch._dynamo.reset()
        with config.patch(backward_pass_autocast=setting or "same_as_forward"):
            found.append(gradient(layer, torch.compile(layer) if setting else layer, under))
    return tuple(found)


DEFAULT = "same_as_forward"
rows = {
    (layer, side): errors(full, setting)
    for layer, full in (("float32 inside of autocast", True), ("bfloat16 by autocast", False))
    for side, setting in (("eager", None), ("compiled", DEFAULT), ("compiled, setting off", "off"))
}
full, half = (
    {side: errors for (layer, side), errors in rows.items() if layer == name}
    for name in dict.fromkeys(layer for layer, _ in rows)
)
# claim: the-default-is-same-as-forward
assert config.backward_pass_autocast == DEFAULT
# claim: eager-after-autocast-is-exact
assert full["eager"][1] < 1e-6
# claim: eager-under-autocast-rounds
assert full["eager"][0] > 1e-3
# claim: compiled-it-rounds-wherever-it-is-called
assert min(full["compiled"]) > 1e-3
# claim: switched-off-it-is-exact
assert max(full["compiled, setting off"]) < 1e-6
# claim: a-layer-in-bfloat16-has-the-same-error
assert all(1e-3 < error < 1e-2 for errors in half.values() for error in errors)

columns = ("layer", "run", "backward under autocast", "backward after it")
tclab.show(
    tclab.Table("Error of the gradient", "errors", columns,
                [(*names, *found) for names, found in rows.items()],
                formats=("", "", ".1e", ".1e"))
)  # fmt: skip
