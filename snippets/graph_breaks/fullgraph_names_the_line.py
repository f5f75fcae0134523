"""fullgraph=True turns a silent break into an error that names the line.

Put it on while you develop. The message has the reason, a hint, a link to a page
about this kind of break, and the line of your code.
"""
# tclab: raises=torch._dynamo.exc.Unsupported

import torch


def normalise(x):
    if x.abs().max() > 1:
        x = x / x.abs().max()
    return x


torch.compile(normalise, fullgraph=True, backend="eager")(torch.randn(8))
