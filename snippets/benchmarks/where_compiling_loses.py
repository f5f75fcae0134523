"""Where it loses: what is slower than eager, what failed, what was not stable.

Of every row the quotient with eager is the median of the rounds' quotients. A row loses where it
is below one by more than its own spread and eager's; between, it is neither.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

import statistics
from collections import Counter

from _recorded import MODES, by_case, recorded, where
from _tables import table

import tclab
from tclab.workshop.bench.rows import OK, PROBLEMS

book = recorded()
caption = where(book)
phases = ("kernel", "inference", "training")
cases = by_case(book, *phases)


def margin(row):
    """What its spread and eager's allow."""
    return row.spread + cases[row.case]["eager"].spread


rows = [row for row in book if row.phase in phases and row.mode in MODES and row.case in cases]
measured = [row for row in rows if row.ok]
slower = sorted((r for r in measured if r.speed_up < 1 - margin(r)), key=lambda r: r.speed_up)
lines = [
    (
        r.case,
        r.mode,
        r.eager_us,
        r.us,
        r.speed_up,
        100 * margin(r),
        r.facts.get("graphs"),
        r.facts.get("graphs_skipped"),
    )
    for r in slower
]
columns = {"case": "", "mode": "", "eager": "µs .0f", "compiled": "µs .0f", "gain": "× .2f"}
columns |= {"spreads": "% .1f", "graphs": "", "CUDA graphs skipped": ""}
tclab.show(table("Slower than eager", columns, lines, name="slower", caption=caption))

whys = [(r, r.reason.partition("\n")[0][:160]) for r in book if not r.ok]
lines = [(r.case, r.mode, r.status, why) for r, why in whys]
columns = {"case": "", "mode": "", "status": "", "why": ""}
tclab.show(table("Not measured", columns, lines, name="problems", caption=caption))

unstable = sorted((r for r in book if r.ok and r.unstable), key=lambda r: -r.spread)
lines = [(r.case, r.mode, r.us, 100 * r.spread, len(r.rounds)) for r in unstable]
columns = {"case": "", "mode": "", "median": "µs .1f", "spread": "% .1f", "rounds": ""}
tclab.show(table("Unstable: a spread above 3 %", columns, lines, name="unstable", caption=caption))

counts = []
for phase in phases:
    for mode in MODES:
        some = [r for r in measured if (r.phase, r.mode) == (phase, mode)]
        below, tie = (
            sum(test(r) for r in some)
            for test in (
                lambda r: r.speed_up < 1 - margin(r),
                lambda r: abs(r.speed_up - 1) <= margin(r),
            )
        )
        if some:
            counts.append((phase, mode, len(some), len(some) - below - tie, tie, below))
columns = {"": "", "mode": "", "measured": "", "faster": "", "neither": "", "slower": ""}
tclab.show(table("Wins and losses", columns, counts, name="counts", caption=caption))
states = Counter(row.status for row in book)
tclab.show(table("All rows", {"status": "", "rows": ""}, sorted(states.items()), name="all"))
stable = 100 * sum(not row.unstable for row in book if row.ok) / states["ok"]
tclab.show(table("Spread", {"": "", "share": "% .1f"}, [("stable", stable)], name="spread"))
# claim: some-lose
assert {"kernel", "inference"} <= {row.phase for row in slower}
# claim: every-row-has-a-status
assert set(states) <= {OK, *PROBLEMS} and all(bool(row.us) == row.ok for row in book)
# claim: what-has-no-time-has-a-reason
assert all(row.reason for row in book if not row.ok)
ok = [row for row in book if row.ok]
# claim: unstable-is-above-three-percent
assert unstable and min(row.spread for row in unstable) > 0.03
# claim: and-measured-in-more-rounds
assert {len(row.rounds) for row in unstable} == {max(len(row.rounds) for row in ok)}
assert any(len(row.rounds) < len(unstable[0].rounds) for row in ok)
# claim: each-time-has-its-errors
assert all({"error", "eager_error"} <= row.facts.keys() for row in ok)
# claim: a-wrong-result-has-no-time
assert states["mismatch"] and not any(row.us for row in book if row.status == "mismatch")
forwards = [row for row in book if row.phase == "inference" and row.facts.get("error")]
floors = [(row, max(2 * row.facts["eager_error"], 0.02)) for row in forwards]
# claim: wrong-is-over-both
assert all((row.facts["error"] > floor) == (row.status == "mismatch") for row, floor in floors)
# claim: a-time-is-the-median-of-its-rounds
assert all(abs(statistics.median(row.rounds) / row.us - 1) < 1e-3 for row in ok)
facts = [row.facts for row in ok]
# claim: warm-after-25-calls-at-most
assert max(f["warm_calls"] for f in facts) == 25
# claim: inputs-rotate-through-twice-the-cache
assert all(f["sets"] == 24 or f["rotated_bytes"] >= 2 * f["cache_bytes"] for f in facts)
# claim: each-row-says-how-many-compiled-beside
assert all("beside" in row.facts for row in ok)
