"""The same suite on another machine of the same kind: do the times agree?

Two medians agree if they differ by no more than the two spreads together, of which each counts as
3 % at least. Compared is every row that both recordings have a time of. Rows are told apart by the
first recording alone: whether the GPU is busy, or waits for Python, which launches its kernels.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/again/*.jsonl

import statistics

from _recorded import recorded, where
from _tables import table
from _waiting import Waiting

import tclab
from tclab.workshop.bench.report import agree

first, second = recorded(), recorded("again")
pairs = [(row, second.rows[row.key]) for row in first if row.key in second.rows]
pairs = [(a, b) for a, b in pairs if a.us and b.us]
caption = f"{where(first)}; again {second.environment['date']}"


def share(some):
    """How many agree, in percent."""
    return 100 * sum(agree(a, b) for a, b in some) / len(some)


launched = Waiting(first).of
groups = {"all": pairs, "steady in both": [p for p in pairs if not any(r.unstable for r in p)]}
groups |= {"unstable in one": [p for p in pairs if any(r.unstable for r in p)]}
groups |= {"steady in the first": [p for p in pairs if not p[0].unstable]}
groups |= {"unsteady in the first": [p for p in pairs if p[0].unstable]}
KINDS = {"the GPU is busy": False, "the GPU waits for launches": True, "not told apart": None}
groups |= {kind: [p for p in pairs if launched(p[0]) is value] for kind, value in KINDS.items()}
for phase in ("ceiling", "kernel", "inference", "training"):
    for mode in ("eager", "default", "reduce-overhead", "triton"):
        own = [(a, b) for a, b in pairs if (a.phase, a.mode) == (phase, mode)]
        groups |= {f"{phase}, {mode}": own} if own else {}
lines = []
for name, some in groups.items():
    apart = statistics.median(abs(b.us / a.us - 1) for a, b in some)
    lines.append((name, len(some), share(some), 100 * apart))
columns = {"rows": "", "number": "", "agree": "% .1f", "apart, median": "% .1f"}
tclab.show(table("Agreement by mode", columns, lines, name="agreement", caption=caption))

shown = {"gains of a busy GPU": False, "gains where it waits": True}
lines = []
for name, value in shown.items():
    some = [p for p in pairs if launched(p[0]) is value and p[0].mode == "default"]
    gains = [(a.speed_up, b.speed_up) for a, b in some if a.speed_up and b.speed_up]
    apart = statistics.median(abs(b / a - 1) for a, b in gains)
    same = sum((a > 1) == (b > 1) for a, b in gains)
    lines.append((name, len(gains), 100 * apart, 100 * same / len(gains)))
columns = {"default mode": "", "number": "", "apart, median": "% .1f", "same side of 1": "% .0f"}
tclab.show(table("Gains in both", columns, lines, name="gains", caption=caption))
of_busy, of_waiting = lines

lines = [
    (a.case, a.mode, a.us, b.us, b.us / a.us, 100 * max(a.spread, b.spread))
    for a, b in sorted(pairs, key=lambda p: -abs(p[1].us / p[0].us - 1))
    if not agree(a, b)
]
columns = {"case": "", "mode": "", "first": "µs .1f", "again": "µs .1f", "again / first": " .2f"}
columns |= {"larger spread": "% .1f"}
tclab.show(table("Rows that do not agree", columns, lines, name="apart", caption=caption))

# claim: most-agree
assert share(pairs) > 85
# claim: not-all-do
assert share(pairs) < 95
graphs = [(a, b) for a, b in pairs if (a.phase, a.mode) == ("inference", "reduce-overhead")]
# claim: models-with-cuda-graphs-agree
assert share(graphs) > 95
eager = [(a, b) for a, b in pairs if (a.phase, a.mode) == ("inference", "eager")]
# claim: eager-models-do-so-less
assert share(eager) < share(graphs) - 10
busy, waits = (groups[f"the GPU {what}"] for what in ("is busy", "waits for launches"))
# claim: rows-of-a-busy-gpu-agree
assert share(busy) >= 95
# claim: rows-that-wait-for-launches-do-so-less
assert share(waits) < share(busy) - 10
steady, unsteady = (groups[f"{what} in the first"] for what in ("steady", "unsteady"))
# claim: the-spread-says-it-less-well
assert share(steady) - share(unsteady) < share(busy) - share(waits)
# claim: gains-where-it-waits-are-farther-apart
assert of_waiting[2] > 2 * of_busy[2]
# claim: which-is-faster-holds
assert min(of_busy[3], of_waiting[3]) > 90
