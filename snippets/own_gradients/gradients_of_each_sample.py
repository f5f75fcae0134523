"""Gradients of each sample: `vmap` over `grad` of an `autograd.Function`, eager and compiled.

`sin` with a backward of its own, in both styles. `generate_vmap_rule` is what eager mode asks of a
class under `vmap`. Values are compared with cos.
"""

import torch
from torch.func import grad, vmap

import tclab


class OneMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


class TwoMethods(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    backward = OneMethod.backward


def of_each_sample(function):
    return lambda x: vmap(grad(lambda sample: function.apply(sample).sum()))(x)


def answer(call):
    """ "right", "wrong", or the name of the error."""
    torch._dynamo.reset()
    try:
        return "right" if torch.allclose(call(x), x.cos()) else "wrong"
    except Exception as error:
        return type(error).__name__


x = torch.linspace(0.1, 1, 4)
CLASSES = {"ctx in forward": OneMethod, "setup_context": TwoMethods}
eager = {style: answer(of_each_sample(each)) for style, each in CLASSES.items()}
compiled = {
    style: answer(torch.compile(of_each_sample(each), backend="aot_eager"))
    for style, each in CLASSES.items()
}
rows = [(style, eager[style], compiled[style]) for style in CLASSES]
columns = ("style", "eager", "compiled")
tclab.show(tclab.Table("vmap over grad", "samples", columns, rows))

# claim: eager-takes-setup-context
assert eager["ctx in forward"] == "RuntimeError" and eager["setup_context"] == "right"
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):
    # claim: compiled-takes-both, torch < 2.15
    assert set(compiled.values()) == {"right"}
else:
    # claim: compiled-takes-none, torch >= 2.15
    assert set(compiled.values()) == {"InternalTorchDynamoError"}
