# Kind: lru_cache is ignored
# Explain: sketch
# Symptom: differs
# Right: lru_cache on the method is ignored when compiled: the signs are drawn anew in each call,
#   eager draws them once; keep them in a buffer or pass them in.
# First screen has: cache | signs || at torch.randint || at self.signs( | each call || every call ||
#   ignored || ignores || again | outside || argument || buffer
# Not: Results: equal to eager | random, not comparable
import functools

import torch


class CountSketch:
    buckets = 4

    @functools.lru_cache(maxsize=8)  # noqa: B019, for one object that lives as long as the run
    def signs(self, size):
        return torch.randint(0, 2, (size,)) * 2.0 - 1.0

    def project(self, rows):
        size = rows.shape[-1]
        signed = rows * self.signs(size)
        return signed.unflatten(-1, (self.buckets, -1)).sum(-1)


counter = CountSketch()


def sketch(rows):
    return counter.project(rows)


def example_inputs():
    rows = torch.arange(160.0).reshape(2, 80)
    return [(rows,), (rows,)]
