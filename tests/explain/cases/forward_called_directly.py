# Kind: nothing is compiled
# Explain: predict
# Compiles: itself
# Symptom: frames 0
# Right: nothing is compiled: Module.compile() changes __call__, and predict calls .forward directly
#   in predict.
# First screen has: 0 frames || nothing is compiled || nothing was compiled || Nothing is compiled
#   || compiled nothing | forward | at tagger.forward
# Not: No graph break: the code is in one graph
import torch
import torch.nn.functional as F


class Tagger(torch.nn.Module):
    def __init__(self, words=50, tags=7):
        super().__init__()
        self.embed = torch.nn.Embedding(words, 16)
        self.out = torch.nn.Linear(16, tags)

    def forward(self, words):
        return F.log_softmax(self.out(self.embed(words).tanh()), -1)


tagger = Tagger().eval()
tagger.compile(dynamic=False)


@torch.no_grad()
def predict(words):
    """The most likely tag of each word."""
    scores = tagger.forward(words)
    return scores.argmax(-1)


def example_inputs():
    return (torch.randint(0, 50, (3, 11)),)
