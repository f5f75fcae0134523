"""Seconds of a cold compile over the number of generated kernels, model by model.

Seconds are those until a model is warm: in a process that has compiled nothing, with empty caches
and one compile thread, beside as many other compiles as a caption says. A kernel counts as often
as Inductor generated it. The mode is the default one. What has no graph is left out.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from statistics import correlation, median

from _recorded import by_case, recorded, where
from _tables import table

import tclab
from tclab.workshop.bench.statistics import geomean

book = recorded()
caption = where(book)
found = {phase: by_case(book, phase) for phase in ("inference", "training")}
defaults = {p: [r["default"] for r in c.values() if "default" in r] for p, c in found.items()}
cold = {phase: [row for row in rows if row.ok] for phase, rows in defaults.items()}
compiled = {p: [row for row in rows if row.facts["graphs"]] for p, rows in cold.items()}
rows = sorted((r for rows in compiled.values() for r in rows), key=lambda r: r.facts["kernels"])


def kernels(row):
    return row.facts["kernels"]


def seconds(row):
    return row.paid_seconds


def each(row):
    return seconds(row) / kernels(row)


def name(row):
    return row.case.split("/", 1)[1].partition("@")[0]


def ranks(values):
    """From the least on; equal ones share the middle of theirs."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def beside(row, mode):
    """The same model in another mode, None where it was not measured."""
    other = book.rows.get((row.case, mode))
    return other if other and other.ok else None


series = {p: [seconds(row) if row.phase == p else None for row in rows] for p in found}
axes = {"x_label": "generated kernels", "y_label": "seconds", "log_x": True, "log_y": True}
axes |= {"names": [row.case.partition("/")[2] for row in rows], "caption": caption}
axes |= {"x": [kernels(row) for row in rows], "series": series, "name": "dots"}
tclab.show(tclab.Chart("Cold compiles over their kernels", **axes))

short, by_rank, by_source = [], {}, {}
for phase, own in compiled.items():
    by_rank[phase] = correlation(*(ranks([of(row) for row in own]) for of in (kernels, seconds)))
    for source in ("timm", "transformers"):
        by_source[phase, source] = median(each(r) for r in own if r.case.split("/")[1] == source)
    middles = [median(map(of, own)) for of in (kernels, seconds, each)]
    short.append((phase, len(own), *middles, by_rank[phase], *list(by_source.values())[-2:]))
columns = {"": "", "measured": "", "kernels": " .0f", "seconds": "s .1f", "a kernel": "s .2f"}
columns |= {"rank correlation": " .2f", "timm, a kernel": "s .2f"}
columns |= {"transformers, a kernel": "s .2f"}
tclab.show(table("Medians", columns, short, name="short", caption=caption))

lines = [
    (row.case.rpartition("/")[2], row.phase, kernels(row), row.facts["graphs"], seconds(row))
    + (each(row), seconds(graphs) if (graphs := beside(row, "reduce-overhead")) else None)
    for row in reversed(rows)
]
columns = {"model": "", "": "", "kernels": "", "graphs": "", "seconds": "s .1f"}
columns |= {"a kernel": "s .2f", "with CUDA graphs": "s .1f"}
others = sorted({row.facts["beside"] for row in rows})
told = f"{caption}; {others[0]} to {others[-1]} other compiles ran at the same time at most"
tclab.show(table("Every model", columns, lines, name="models", caption=told))

pairs = [(row, graphs) for row in rows if (graphs := beside(row, "reduce-overhead"))]
again = [seconds(graphs) / seconds(row) for row, graphs in pairs]
recording = [graphs.facts["recording_s"] / seconds(graphs) for _, graphs in pairs]
eager = [seconds(beside(row, "eager")) / seconds(row) for row in rows]
forward = {name(row): row for row in compiled["inference"] if not row.case.endswith("@1")}
steps = [(forward[name(row)], row) for row in compiled["training"] if name(row) in forward]
more, longer = ([of(step) / of(one) for one, step in steps] for of in (kernels, seconds))
figures = [("kernels of a step", median(more)), ("seconds of a step", median(longer))]
figures += [("with CUDA graphs", geomean(again)), ("least", min(again)), ("most", max(again))]
tclab.show(table("Times as much", {"": "", "times": " .2f"}, figures, name="times"))
shares = [("recording, most", 100 * max(recording)), ("eager, median", 100 * median(eager))]
tclab.show(table("Of the seconds", {"": "", "share": "% .1f"}, shares, name="shares"))

# claim: more-kernels-more-seconds
assert min(by_rank.values()) > 0.6
# claim: a-step-compiles-longer
assert len(steps) > 20 and min(longer) > 1 and median(longer) > 2
# claim: but-less-so-than-it-has-more-kernels
assert median(more) > 1.5 * median(longer)
# claim: a-language-models-kernel-takes-less
assert all(by_source[p, "transformers"] < 0.8 * by_source[p, "timm"] for p in found)
# claim: recording-is-a-small-part
assert max(recording) < 0.05
# claim: cuda-graphs-take-no-longer-on-average
assert abs(geomean(again) - 1) < 0.05
# claim: the-same-kernels-again-differ
assert max(again) > 1.2 and min(again) < 0.85
# claim: eagers-first-call-is-a-small-part
assert median(eager) < 0.05
without = [row for own in cold.values() for row in own if not row.facts["graphs"]]
# claim: without-a-graph-there-is-no-compile
assert without and all(seconds(row) < 1 and not kernels(row) for row in without)
