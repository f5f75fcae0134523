"""The first training step of an encoder over its depth: cold, with warm caches, by regions.

Each in a process of its own that has run the model in eager mode. Cold: empty caches. Warm: a
second process with the caches of the first. Regional: each layer is compiled for itself, with empty
caches. One compile thread each; the depths are measured side by side. Counted are the graphs, their
kernels, and the graphs found in a cache.
"""
# tclab: needs=cuda,triton alone=true timeout=240 memory=65536

import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch
from _compiles import compiled
from _tables import table

import tclab

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DEPTHS = (2, 4, 8, 16) if DEVICE == "cuda" else (2, 4)


def whole(layers):
    """Cold, and again over the same caches."""
    with tempfile.TemporaryDirectory() as folder:
        return [compiled(layers, "whole", folder, DEVICE) for _ in range(2)]


def regional(layers):
    """Cold, each layer compiled for itself."""
    with tempfile.TemporaryDirectory() as folder:
        return compiled(layers, "regional", folder, DEVICE)


with ThreadPoolExecutor(2 * len(DEPTHS) if DEVICE == "cuda" else 1) as pool:
    pairs, regions = pool.map(whole, DEPTHS), pool.map(regional, DEPTHS)
    measured = {d: (*pair, region) for d, pair, region in zip(DEPTHS, pairs, regions)}

WAYS = ("cold", "warm caches", "regional, cold")
columns = {"layers": "", **dict.fromkeys(WAYS, "s .1f")}
rows = [(layers, *(one.seconds for one in row)) for layers, row in measured.items()]
tclab.show(table("Seconds of the first step", columns, rows, name="depths"))
curves = {way: [row[1 + i] for row in rows] for i, way in enumerate(WAYS)}
axes = {"x": DEPTHS, "series": curves, "x_label": "layers", "y_label": "seconds"}
tclab.show(tclab.Chart("Seconds of the first step over depth", name="curves", **axes))
columns = {"layers": "", "way": "", "graphs": "", "kernels": "", "found in a cache": ""}
counts = [(d, way, *one[1:4]) for d, row in measured.items() for way, one in zip(WAYS, row)]
tclab.show(table("What was compiled", columns, counts, name="counts"))
least, most = measured[DEPTHS[0]], measured[DEPTHS[-1]]
every = [one for row in measured.values() for one in row]

# claim: every-way-compiled
assert all(one.graphs >= 1 and one.kernels >= 1 for one in every)
# claim: the-results-are-those-of-eager
assert max(one.off for one in every) < 1e-2
# claim: whole-has-more-kernels-with-depth
assert most[0].graphs == least[0].graphs == 1 and most[0].kernels > least[0].kernels > 0
# claim: regional-has-as-many-at-any-depth
assert len({row[2].kernels for row in measured.values()}) == 1 and most[2].kernels > 0
# claim: warm-caches-are-hit
assert all(row[0].hits == 0 < row[1].hits for row in measured.values())
# claim: at-depth-regional-and-warm-are-cheaper
assert max(most[1].seconds, most[2].seconds) < 0.8 * most[0].seconds
