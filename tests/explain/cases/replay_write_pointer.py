# Kind: indexing with a tensor of no dimension
# Explain: Replay
# Symptom: frames_ok 0
# Right: nothing is compiled: the write indexes with a 0-dim tensor, which reads its value; use a
#   pointer of shape [1] with index_copy_, or an int.
# First screen has: at self.memory[self.pointer] | index_copy_ || shape [1] || Python int | 0 graphs
#   || eager || nothing || falls back || fell back || not compiled
# Not: No graph break: the code is in one graph
import torch


class Replay(torch.nn.Module):
    """A ring of the last transitions; `pointer` says where the next one goes."""

    def __init__(self, capacity=20):
        super().__init__()
        self.register_buffer("memory", torch.zeros(capacity, 6))
        self.register_buffer("pointer", torch.zeros((), dtype=torch.long))

    def forward(self, transition):
        self.memory[self.pointer] = transition.relu()
        return self.memory.std(0)


def example_inputs():
    return [(torch.randn(6),), (torch.randn(6),)]
