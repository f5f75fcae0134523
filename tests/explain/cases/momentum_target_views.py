# Kind: inference_mode inside what is compiled
# Explain: Byol
# Symptom: raises inference
# Right: the target branch runs in inference_mode inside forward and takes views there; compile
#   fails; torch.no_grad() in forward works.
# First screen has: inference_mode || inference mode | no_grad
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch
from torch import nn


class Byol(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Conv2d(3, 4, 3, padding=1)
        self.target = nn.Conv2d(3, 4, 3, padding=1)

    def project(self, net, image):
        return net(image[..., 1:]).transpose(1, 3).flatten(0, 2)

    def forward(self, first, second):
        mine = self.project(self.online, first)
        with torch.inference_mode():
            wanted = self.project(self.target, second)
        return (mine - wanted).square().mean()


def example_inputs():
    return torch.randn(2, 3, 6, 6), torch.randn(2, 3, 6, 6)
