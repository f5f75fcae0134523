"""What `reduce-overhead` gains over the default mode: models on an H200, in three groups.

Each row is a model with random weights that was timed in eager, by default and with
`reduce-overhead`. A gain is the default mode's time over that with CUDA graphs.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import by_case, recorded, where
from _tables import table

import tclab
from tclab.workshop.bench.statistics import geomean

book = recorded()
MODES = ("eager", "default", "reduce-overhead")


def timed(cases):
    """The gains of CUDA graphs by case, where all three modes were measured."""
    return {name: rows for name, rows in cases.items()
            if all(mode in rows and rows[mode].ok for mode in MODES)}  # fmt: skip


def gain(rows, before, after):
    return rows[before].us / rows[after].us


cases = timed(by_case(book, "inference")), timed(by_case(book, "training"))
inference, training = ({n: gain(rows, "default", "reduce-overhead") for n, rows in each.items()}
                       for each in cases)  # fmt: skip
single = {name: gain for name, gain in inference.items() if name.endswith("@1")}
large = {name: gain for name, gain in inference.items() if name not in single}


def faster(gains):
    return sum(gain > 1.1 for gain in gains.values())


# claim: at-batch-one-nearly-all-gain
assert len(single) == 38 and faster(single) == 36 and geomean(single.values()) > 4
# claim: one-loses
assert [name for name, gain in single.items() if gain < 0.97] == ["inference/torch/lstm@1"]
# claim: in-training-nearly-all-gain
assert len(training) == 41 and faster(training) == 39 and geomean(training.values()) > 2
# claim: at-a-large-batch-half-gain
assert len(large) == 42 and faster(large) == 24
# claim: and-none-loses
assert min([*large.values(), *training.values()]) > 0.97

groups = {"inference, batch 1": single, "training step": training, "inference, large batch": large}
columns = {"group": "", "models": "", "mean gain": "× .2f", "least": "× .2f", "most": "× .1f",
           "faster by a tenth": ""}  # fmt: skip
lines = [(name, len(gains), geomean(gains.values()), min(gains.values()), max(gains.values()),
          faster(gains)) for name, gains in groups.items()]  # fmt: skip
tclab.show(table("CUDA graphs over the default mode", columns, lines, name="gains",
                 caption=where(book)))  # fmt: skip

rows = cases[0] | cases[1]
means = {mode: [geomean(gain(rows[n], "eager", mode) for n in gains) for gains in groups.values()]
         for mode in MODES[1:]}  # fmt: skip
# claim: the-default-gains-in-each-group
assert min(means["default"]) > 1.2
# claim: cuda-graphs-gain-more-in-each
assert all(more > less for less, more in zip(*means.values(), strict=True))
# claim: cuda-graphs-gain-most-at-batch-one
assert means["reduce-overhead"][0] == max(means["reduce-overhead"]) > 7
short = [name.removeprefix("inference, ") for name in groups]
bars = {"x": short, "series": means, "style": "bar", "y_label": "times as fast as eager"}
title = "Models on one H200, against eager"
tclab.show(tclab.Chart(title, name="bars", caption=where(book), **bars))
