# Kind: a later user of the compiled object fails
# Explain: train
# Compiles: itself
# Symptom: raises __func__
# Right: the scheduler wraps optimizer.step as a bound method and a compiled step is a function;
#   make the scheduler before compiling the step.
# First screen has: __func__ | scheduler || OneCycleLR | before || first || behind ||
#   MethodType | step
# Not: raises without torch.compile too | raises without it too
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    def __call__(self, x):
        self.optimizer.step = torch.compile(self.optimizer.step, fullgraph=False)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=0.5, total_steps=20
        )
        loss = self.net(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()


trainer = Trainer()


def train(x):
    return trainer(x)


def example_inputs():
    return (torch.randn(3, 5),)
