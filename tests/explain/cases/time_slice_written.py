# Kind: indexing with a tensor of no dimension
# Explain: record
# Symptom: frames_ok 0
# Right: nothing is compiled: `frames[:, :, now]` writes at a 0-dim tensor, which is read as a
#   number; use index_copy_ with shape [1], or an int.
# First screen has: at frames[:, :, now] = | index_copy_ || shape [1] || Python int | 0 graphs ||
#   eager || nothing || falls back || fell back || not compiled
# Not: No graph break: the code is in one graph
import torch


def record(frames, picture, now):
    """Put a picture into the film at this time and blend all frames."""
    bright = picture.clamp(0, 1) ** 0.5
    frames[:, :, now] = bright
    return frames.mean(-1)


def example_inputs():
    film = torch.zeros(3, 5, 12)
    return [(film, torch.rand(3, 5), torch.tensor(k)) for k in range(2)]
