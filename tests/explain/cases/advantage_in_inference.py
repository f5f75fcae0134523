# Kind: inference_mode inside what is compiled
# Explain: value_loss
# Symptom: raises inference
# Right: inference_mode around views of the states in the compiled loss makes the compile fail;
#   torch.no_grad() there works.
# First screen has: inference_mode || inference mode | no_grad
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch


def wanted_values(critic, states, rewards, discount=0.99):
    with torch.inference_mode():
        later = states[1:].flatten(1)
        return rewards + discount * critic(later).squeeze(-1)


class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.value = torch.nn.Linear(12, 1)


critic = Critic()


def value_loss(states, rewards):
    """The temporal-difference error of the critic, squared."""
    now = critic.value(states[:-1].flatten(1)).squeeze(-1)
    return (now - wanted_values(critic.value, states, rewards)).square().mean()


def example_inputs():
    return torch.randn(9, 3, 4), torch.randn(8)
