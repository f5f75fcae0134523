"""A step with a gradient scaler, clipping and accumulation: compiled as a whole, and in parts.

Compiled as a whole it makes the graphs that the model and the optimizer's step make, compiled
apart: scaling, `backward()` and clipping run in eager Python either way.
"""
# tclab: needs=cxx timeout=180

import torch

import tclab


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.first(x).relu())


class Training:
    def __init__(self, how):
        torch.manual_seed(0)
        self.net = self.model = Net()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=torch.tensor(0.01))
        self.scaler = torch.amp.GradScaler("cpu")
        if how == "the whole step":
            self.step = torch.compile(self.step)
        if how == "the model and the optimizer's step":
            self.model = torch.compile(self.net)
            self.optimizer.step = torch.compile(self.optimizer.step)

    def step(self, x):
        self.optimizer.zero_grad()
        for part in x.chunk(2):
            self.scaler.scale(self.model(part).square().mean() / 2).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def trained(how):
    """The weights after four steps, and what was captured."""
    torch._dynamo.reset()
    training = Training(how)
    with tclab.capture() as c:
        for _ in range(4):
            training.step(torch.ones(8, 8))
    return [p.detach() for p in training.net.parameters()], c


HOW = ("not compiled", "the whole step", "the model and the optimizer's step")
(eager, _), (whole, in_whole), (apart, in_parts) = map(trained, HOW)
# claim: the-whole-step-makes-the-graphs-of-the-parts
assert len(in_whole.graphs) == 2
assert [each.code for each in in_whole.graphs] == [each.code for each in in_parts.graphs]
# claim: the-scaler-in-a-loop-leaves-the-step-to-python
assert any(each.skipped and "GradScaler.scale" in each.explanation for each in in_whole.breaks)
assert not any(each.skipped for each in in_parts.breaks)
# claim: no-graph-clips-or-scales
assert not any("norm" in each.code or "unscale" in each.code for each in in_whole.graphs)
gaps = [(a - b).abs().max().item() for got in (whole, apart) for a, b in zip(eager, got)]
# claim: the-weights-are-eagers
assert len(gaps) == 8 and max(gaps) < 1e-5

rows = [
    (how, len(each.graphs), sum(b.skipped for b in each.breaks), len(each.breaks))
    for how, each in zip(HOW[1:], (in_whole, in_parts))
]
columns = ("compiled", "graphs in four steps", "functions left to Python", "breaks")
tclab.show(tclab.Table("A step with scaler, clipping and two parts", "steps", columns, rows))
