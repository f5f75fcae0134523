# Kind: nothing is compiled
# Explain: serve
# Compiles: itself
# Symptom: frames 0
# Right: nothing is compiled: the table of handlers holds the bound methods from before; the
#   compiled ones are never called.
# First screen has: 0 frames || nothing is compiled || nothing was compiled || Nothing is compiled
#   || compiled nothing | embed
# Not: No graph break: the code is in one graph
import torch


class Service:
    """Answers requests by name; the handlers are bound once, when it is made."""

    def __init__(self):
        self.weight = torch.randn(12, 12)
        self.handlers = {"embed": self.embed, "score": self.score}

    def embed(self, x):
        return torch.nn.functional.normalize(x @ self.weight, dim=-1)

    def score(self, x):
        return (x @ self.weight).sigmoid().sum(-1)

    def answer(self, name, x):
        return self.handlers[name](x)


service = Service()
service.embed = torch.compile(service.embed)
service.score = torch.compile(service.score)


def serve(x):
    return service.answer("embed", x), service.answer("score", x)


def example_inputs():
    return (torch.randn(4, 12),)
