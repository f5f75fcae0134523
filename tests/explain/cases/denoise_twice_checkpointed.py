# Kind: compiled backward needs more memory than eager
# Explain: Consistency --backward
# Symptom: memory 1.4
# Right: the same checkpointed network runs at two times in one step: the compiled backward
#   recomputes it in advance and needs more memory than eager; compile the blocks (regional).
# First screen has: memory || MiB || peak | recompute || checkpoint | each block || regional ||
#   block by block || blocks one by one
import torch
import torch.utils.checkpoint as ckpt
from torch import nn


class ResBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(128, 1024), nn.Linear(1024, 128)

    def forward(self, x, time):
        return x + self.b(nn.functional.silu(self.a(x + time)))


class Consistency(nn.Module):
    def __init__(self):
        super().__init__()
        for name in range(12):
            self.add_module(f"block{name}", ResBlock())

    def denoise(self, x, time):
        for block in self.children():
            x = ckpt.checkpoint(block, x, time, use_reentrant=False)
        return x

    def forward(self, noisy):
        far, near = self.denoise(noisy, 0.9), self.denoise(noisy * 0.5, 0.4)
        return (far - near).square().mean()


def example_inputs():
    return (torch.randn(1024, 128),)
