"""With fullgraph=True the limit is an error.

The default is silence: past the limit your model runs eager and nobody says so. With
`fullgraph=True` the ninth compile raises, and the message names the guard that kept failing.
"""
# tclab: raises=torch._dynamo.exc.FailOnRecompileLimitHit

import torch


def f(x, mode):
    return x.sin() if mode == "v2" else x.cos()


compiled = torch.compile(f, backend="eager", fullgraph=True)
limit = torch._dynamo.config.recompile_limit
for n in range(limit):
    compiled(torch.ones(4), f"v{n}")  # these compile
compiled(torch.ones(4), "one more")  # this raises
