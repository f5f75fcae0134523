# Kind: regions compiled one by one reach the limit
# Explain: Wave
# Compiles: itself
# Symptom: compiles 8
# Right: each layer's self.dilation is guarded, so eleven compiled layers compile one forward anew
#   up to the limit of 8, and the rest run eagerly; raise recompile_limit or compile the whole model
#   once.
# First screen has: dilation | limit | recompile_limit || whole || isolate_recompiles
# Not: No graph break: the code is in one graph | No fix is known
import torch
import torch.nn.functional as F


class Causal(torch.nn.Module):
    def __init__(self, dilation):
        super().__init__()
        self.dilation = dilation
        self.kernel = torch.nn.Parameter(torch.randn(4, 4, 2) / 4)

    def forward(self, signal):
        padded = F.pad(signal, (self.dilation, 0))
        return signal + torch.tanh(F.conv1d(padded, self.kernel, dilation=self.dilation))


class Wave(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList()
        for k in range(11):
            layer = Causal(k + 1)
            layer.forward = torch.compile(layer.forward)
            self.layers.append(layer)

    def forward(self, signal):
        for layer in self.layers:
            signal = layer(signal)
        return signal


def example_inputs():
    return (torch.randn(1, 4, 40),)
