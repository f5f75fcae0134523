"""An error in a backend is not caught: the call ends with it, nothing falls back to eager."""
# tclab: raises=torch._dynamo.exc.BackendCompilerFailed

import torch


def unfinished(graph, example_inputs):
    unknown = [n for n in graph.graph.nodes if n.target is torch.sinc]
    if unknown:
        raise NotImplementedError(f"no rule for {unknown[0].target.__name__}")
    return graph.forward


f = torch.compile(lambda x: torch.sinc(x) + 1, backend=unfinished)
f(torch.ones(3))
