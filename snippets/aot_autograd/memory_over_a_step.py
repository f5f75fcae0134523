"""The memory held over one training step, eager against compiled.

Each step of a curve is one allocation or release that PyTorch's allocator reported, counted from
where the training step began. Both halves are drawn equally wide, so the picture knows no clock: a
curve with fewer steps has fewer intermediate tensors. What is held at the border was kept for the
backward, with the result. What is held at the end are the gradients.
"""

import torch

import tclab


def loss(x, w1, w2):
    h = torch.nn.functional.gelu(x @ w1)
    return (h * torch.sigmoid(h) @ w2).cos().sum()


torch.manual_seed(0)
x = torch.randn(512, 128)
w1 = (torch.randn(128, 512) / 16).requires_grad_()
w2 = (torch.randn(512, 64) / 32).requires_grad_()
gradients = {}


def step(fn):
    """Forward and backward as two functions, the first of which keeps what the second needs."""
    kept = []

    def forward():
        kept.append(fn(x, w1, w2))

    def backward():
        gradients[fn] = torch.autograd.grad(kept.pop(), (w1, w2))

    return {"forward": forward, "backward": backward}


compiled = torch.compile(loss)
for phase in step(compiled).values():  # compile first, then watch
    phase()
del gradients[compiled]
memory = tclab.memory({"eager": step(loss), "compiled": step(compiled)})
tclab.show(memory)

torch.testing.assert_close(gradients[compiled], gradients[loss], rtol=1e-3, atol=1e-3)
eager, fused = memory["eager"], memory["compiled"]
moments = [sum(len(phase.moments) for phase in run.phases) for run in (eager, fused)]
# claim: less-is-kept-for-the-backward
assert fused.after("forward") < eager.after("forward")
# claim: the-peak-is-lower
assert fused.peak < eager.peak
# claim: there-are-fewer-allocations
assert moments[1] < moments[0]
# claim: what-is-left-are-the-gradients
assert eager.after("backward") == fused.after("backward") == w1.nbytes + w2.nbytes
