"""max-autotune beside reduce-overhead: both replay a CUDA graph, and one has chosen its kernels.

Times of reduce-overhead are of the first recording. Those of max-autotune come from it and from
later machines of the same kind; in all the model was right first. Autotuning takes
long, so not each model was warm in time; `cold` and `tuned` are the seconds until each of
the two is warm.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/autotuned*/*.jsonl

from _recorded import recorded, where
from _tables import table

import tclab
from tclab.workshop.bench.statistics import geomean

first, *later = books = [recorded(f) for f in ("", "autotuned", "autotuned_training")]
PHASES = ("inference", "training")
tried = {}  # the last that was measured; else why not at the last try
for row in (row for book in books for row in book if row.mode == "max-autotune"):
    if row.phase in PHASES and (row.ok or row.key not in tried or not tried[row.key].ok):
        tried[row.key] = row
tuned = {case: row for (case, _), row in sorted(tried.items()) if row.ok}
missed = sorted((row for row in tried.values() if not row.ok), key=lambda r: r.case)

lines = []
for case, row in tuned.items():
    graphs = first.rows.get((case, "reduce-overhead"))
    if row.phase == "inference" and graphs and graphs.ok and graphs.facts["graphs"]:
        spread = 100 * max(graphs.spread, row.spread)
        seconds = graphs.paid_seconds, row.paid_seconds
        times = graphs.us, row.us, graphs.us / row.us
        lines.append((case.rpartition("/")[2], *times, spread, *seconds))
caption = f"{where(first)}; {later[0].environment['date']}"
columns = {"model": "", "reduce-overhead": "µs .0f", "max-autotune": "µs .0f", "gain": "× .2f"}
columns |= {"spread": "% .1f", "cold": "s .0f", "tuned": "s .0f"}
lines.sort(key=lambda line: -line[3])
title = "max-autotune beside reduce-overhead"
tclab.show(table(title, columns, lines, name="models", caption=caption))
gains = [line[3] for line in lines]
figures = [("models", len(gains)), ("mean", geomean(gains))]
figures += [("faster by a twentieth", sum(gain > 1.05 for gain in gains))]
figures += [("slower by a twentieth", sum(gain < 0.95 for gain in gains))]
figures += [("compile", geomean(line[6] / line[5] for line in lines))]
for phase in PHASES:
    own = [row for row in tried.values() if row.phase == phase]
    known = [row for row in first if row.mode == "eager" and row.phase == phase and row.ok]
    figures += [(f"{phase}, known", len(known))]
    figures += [(f"{phase}, tried", len(own)), (f"{phase}, warm", sum(r.ok for r in own))]
    figures += [(f"{phase}, {s}", sum(r.status == s for r in own)) for s in ("timeout", "failed")]
whys = [(r.case, r.status, r.reason.partition("\n")[0][:120]) for r in missed]
columns = {"model": "", "status": "", "why": ""}
tclab.show(table("Not tuned", columns, whys, name="missed", caption=caption))
tclab.show(table("In short", {"": "", "number": " .3g"}, figures, name="short", caption=caption))

# claim: it-is-hardly-faster-than-cuda-graphs
assert len(gains) >= 40 and abs(geomean(gains) - 1) < 0.02
# claim: its-compile-takes-longer
assert geomean(line[6] / line[5] for line in lines) > 1.5
# claim: others-were-tuned-beside
assert min(row.facts["beside"] for row in tuned.values()) >= 5
failed = [first.rows[row.case, "reduce-overhead"] for row in missed if row.status == "failed"]
# claim: what-failed-fails-with-cuda-graphs-too
assert failed and all("overwritten" in row.reason for row in failed)
eager = [row for row in first if row.mode == "eager" and row.phase == "inference" and row.ok]
# claim: each-was-tried
assert {row.case for row in eager} <= {case for case, _ in tried}
# claim: most-of-training-was-not-warm-in-time
assert sum(row.ok for row in tried.values() if row.phase == "training") < 5
