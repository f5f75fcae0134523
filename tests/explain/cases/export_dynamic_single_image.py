# Kind: an example of size 1 is taken for a constant
# Explain: to_program
# Compiles: itself
# Symptom: raises conflicts
# Right: the example batch of 1 is taken for a constant and cannot be Dim.DYNAMIC; export with an
#   example of batch 2 or more.
# First screen has: 2 or more || least 2 || of two | constant || specialis || specializ | at
#   torch.export.export(
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 5))


class Classify(nn.Module):
    def forward(self, images):
        logits = net(images)
        return logits.squeeze(0) if images.shape[0] == 1 else logits


def to_program(images):
    batch = {0: torch.export.Dim.DYNAMIC}
    return torch.export.export(Classify(), (images,), dynamic_shapes=(batch,))


def example_inputs():
    return (torch.randn(1, 3, 8, 8),)
