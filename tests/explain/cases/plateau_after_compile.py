# Kind: a later user of the compiled object fails
# Explain: fit
# Compiles: itself
# Symptom: raises __func__
# Right: a warm-up scheduler cannot wrap a step that is compiled already (no __func__); make the
#   scheduler first, then compile the step.
# First screen has: __func__ | scheduler || LinearLR | before || first || behind ||
#   MethodType | step
# Not: raises without torch.compile too | raises without it too
import torch
from torch.optim.lr_scheduler import LinearLR

weight = torch.nn.Parameter(torch.ones(7))
solver = torch.optim.RMSprop([weight], lr=1e-2)
solver.step = torch.compile(solver.step)


def warm_up():
    return LinearLR(solver, start_factor=0.1, total_iters=5)


def fit(target):
    schedule = warm_up()
    solver.zero_grad()
    (weight - target).square().sum().backward()
    solver.step()
    schedule.step()
    return weight.detach().clone()


def example_inputs():
    return (torch.zeros(7),)
