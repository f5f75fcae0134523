# Kind: inference_mode inside what is compiled
# Explain: distil
# Symptom: raises inference
# Right: inference_mode inside the compiled function: views of inference tensors cannot be
#   functionalised; use torch.no_grad().
# First screen has: inference_mode || inference mode | no_grad
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch
import torch.nn.functional as F

big, small = torch.nn.Linear(10, 4), torch.nn.Linear(10, 4)


@torch.inference_mode()
def soft_labels(x):
    last = x[:, 1:].flatten(0, 1)
    return F.softmax(big(last) / 2.0, dim=-1)


def distil(x):
    """How far the small model's answer is from the big one's."""
    labels = soft_labels(x)
    mine = F.softmax(small(x[:, 1:].flatten(0, 1)) / 2.0, dim=-1)
    return (mine - labels).abs().sum(-1).mean()


def example_inputs():
    return (torch.randn(3, 2, 10),)
