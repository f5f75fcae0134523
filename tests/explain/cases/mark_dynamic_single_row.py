# Kind: an example of size 1 is taken for a constant
# Explain: score_batch
# Compiles: itself
# Symptom: raises dynamic
# Right: a row count of 1 is marked dynamic, and a size of 1 is taken for a constant, so the compile
#   raises; make the first call with 2 rows or more, or maybe_mark_dynamic.
# First screen has: 2 or more || least 2 || of two || maybe_mark_dynamic | constant || specialis
#   || specializ
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch


@torch.compile
def score(rows, weight):
    logits = rows @ weight
    return logits.squeeze(0) if rows.shape[0] == 1 else logits


def score_batch(rows):
    """Scores of any number of rows, with one compile."""
    torch._dynamo.mark_dynamic(rows, 0, min=1, max=64)
    return score(rows, torch.eye(4))


def example_inputs():
    return (torch.randn(1, 4),)
