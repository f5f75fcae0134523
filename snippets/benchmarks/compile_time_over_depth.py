"""The first step of an encoder with 2 to 24 equal layers: cold, with warm caches, by regions.

Forward and backward, each in a process of its own that has run the model in eager mode. Cold: empty
caches. Warm: a second process with the caches of the first. Regional: each layer is compiled for
itself, with empty caches; equal layers share their code. One compile thread each; the depths are
measured side by side.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=65536

import tempfile
from concurrent.futures import ThreadPoolExecutor

from _compiles import seconds
from _tables import table

import tclab

DEPTHS = (2, 6, 12, 24)


def whole(layers):
    """Seconds cold, and again over the same caches."""
    with tempfile.TemporaryDirectory() as folder:
        return [seconds(layers, "whole", folder, "cuda") for _ in range(2)]


def regional(layers):
    """Seconds cold, each layer compiled for itself."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(layers, "regional", folder, "cuda")


with ThreadPoolExecutor(8) as pool:
    pairs, regions = pool.map(whole, DEPTHS), pool.map(regional, DEPTHS)
    rows = [(d, *pair, region) for d, pair, region in zip(DEPTHS, pairs, regions)]

columns = {"layers": "", "cold": "s .1f", "warm caches": "s .1f", "regional, cold": "s .1f"}
tclab.show(table("Seconds of the first step", columns, rows, name="depths"))
curves = {name: [row[i] for row in rows] for i, name in enumerate(columns) if i}
axes = {"x": DEPTHS, "series": curves, "x_label": "layers", "y_label": "seconds"}
tclab.show(tclab.Chart("Seconds of the first step over depth", name="curves", **axes))

(_, *least), *_, (_, *most) = rows
# claim: cold-grows-with-the-layers
assert most[0] > 2 * least[0]
# claim: regional-grows-less
assert most[2] - least[2] < most[0] - least[0]
# claim: warm-caches-are-cheaper-at-depth
assert most[1] < most[0]
