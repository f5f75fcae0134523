"""max-autotune beside reduce-overhead: both replay a CUDA graph, and one has chosen its kernels.

Times of reduce-overhead are of the first recording. Those of max-autotune come from it and from a
second machine of the same kind; in both the model was right first. An autotuned model takes the
longest to compile, so only some were measured; `cold` and
`tuned` are the seconds until each of the two is warm.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/autotuned/*.jsonl

from _recorded import recorded, where
from _tables import table

import tclab
from tclab.bench.statistics import geomean

first, second = recorded(), recorded("autotuned")
rows = {
    row.key: row
    for book in (second, first)
    for row in book
    if row.mode == "max-autotune" and row.phase == "inference" and row.ok
}
lines = []
for (case, _), tuned in sorted(rows.items()):
    graphs = first.rows.get((case, "reduce-overhead"))
    if graphs and graphs.ok and graphs.facts["graphs"]:
        quotient = graphs.us / tuned.us
        spread = 100 * max(graphs.spread, tuned.spread)
        seconds = graphs.paid_seconds, tuned.paid_seconds
        lines.append((case.rpartition("/")[2], graphs.us, tuned.us, quotient, spread, *seconds))
caption = f"{where(first)}; {second.environment['date']}"
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
tried = {row.key: row for row in second if row.mode == "max-autotune" and row.phase == "inference"}
missed = sorted((row for key, row in tried.items() if key not in rows), key=lambda r: r.case)
for status in ("timeout", "failed"):
    figures += [(status, sum(row.status == status for row in missed))]
known = {row.case for row in first if row.phase == "inference" and row.mode == "eager" and row.ok}
done = {case for case, _ in (*rows, *tried)}
figures += [("not tried", len(known - done))]
whys = [(r.case.partition("/")[2], r.status, r.reason.partition("\n")[0][:120]) for r in missed]
columns = {"model": "", "status": "", "why": ""}
tclab.show(table("Not tuned", columns, whys, name="missed", caption=caption))
tclab.show(table("In short", {"": "", "number": " .3g"}, figures, name="short", caption=caption))

# claim: it-is-hardly-faster-than-cuda-graphs
assert len(gains) >= 12 and abs(geomean(gains) - 1) < 0.1
# claim: its-compile-takes-longer
assert geomean(line[6] / line[5] for line in lines) > 1.5
failed = [first.rows[row.case, "reduce-overhead"] for row in missed if row.status == "failed"]
# claim: what-failed-fails-with-cuda-graphs-too
assert failed and all("overwritten" in row.reason for row in failed)
