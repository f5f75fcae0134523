"""What another machine of the same kind will measure: said from two recordings, held to a third.

For each row an interval is stated. Where the GPU is busy it is the first median, give or take two
spreads, of which each counts as 3 % at least. Where the GPU waits for launches, and where the first
two recordings differ by more than that, it is the geometric mean of the two, times or over one
factor: nineteen of twenty of the rows that wait were no farther apart. The third recording, and the
eager rows of a fourth machine, took no part in stating anything.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/*/*.jsonl

import statistics

from _recorded import recorded, where
from _tables import table
from _waiting import Waiting

import tclab
from tclab.workshop.bench.report import agree
from tclab.workshop.bench.statistics import geomean

first, second, third, fourth = map(recorded, ("", "again", "third", "autotuned"))
waits = Waiting(first).of
known = {row.key: (row, second.rows[row.key]) for row in first if row.key in second.rows}
known = {key: (a, b) for key, (a, b) in known.items() if a.us and b.us}


def apart(us, other_us):
    """How many times one is the other, never below 1."""
    return max(us / other_us, other_us / us)


def calm(a, b):
    """The GPU is busy, and the first two recordings agree."""
    return waits(a) is False and agree(a, b)


waiting = sorted(apart(a.us, b.us) for a, b in known.values() if waits(a) is not False)
factor = waiting[int(0.95 * (len(waiting) - 1))]


def inside(key, row):
    """Whether a row of a later recording is where it was stated to be."""
    a, b = known[key]
    if calm(a, b):
        return agree(a, row)
    return apart(row.us, geomean((a.us, b.us))) <= factor


def later(book, *modes):
    """The rows of a book that something was stated of, in these modes or all."""
    rows = [row for row in book if row.key in known and row.us]
    return [row for row in rows if not modes or row.mode in modes]


KINDS = {"the GPU is busy": True, "it waits for launches": False}
lines, shares, shifts = [], {}, {}
for name, rows in (("third", later(third)), ("fourth, eager", later(fourth, "eager"))):
    groups = {"all": rows}
    groups |= {kind: [r for r in rows if calm(*known[r.key]) is is_] for kind, is_ in KINDS.items()}
    for kind, some in groups.items():
        share = 100 * sum(inside(row.key, row) for row in some) / len(some)
        shift = statistics.median(row.us / known[row.key][0].us for row in some)
        shares[name, kind], shifts[name, kind] = share, shift
        lines.append((f"{name}, {kind}", len(some), share, shift))
caption = f"stated from {where(first)} and {second.environment['date']}"
columns = {"recording": "", "rows": "", "as stated": "% .1f", "over the first, median": "× .2f"}
tclab.show(table("Held to what was stated", columns, lines, name="held", caption=caption))
tclab.show(table("Stated", {"": "", "times": " .2f"}, [("factor", factor)], name="stated"))

lines = []
for name, is_ in KINDS.items():
    rows = [row for row in later(third, "default") if calm(*known[row.key]) is is_]
    gains = [(row.speed_up, known[row.key][0].speed_up) for row in rows]
    far = statistics.median(abs(a / b - 1) for a, b in gains)
    same = sum((a > 1) == (b > 1) for a, b in gains)
    lines.append((name, len(gains), 100 * far, 100 * same / len(gains)))
columns = {"default mode": "", "rows": "", "apart, median": "% .1f", "same side of 1": "% .0f"}
title = "Gains of the third beside the first"
tclab.show(table(title, columns, lines, name="gains", caption=caption))
of_busy, of_waiting = lines

outside = [row for row in later(third) if not inside(row.key, row)]
outside.sort(key=lambda row: -apart(row.us, known[row.key][0].us))
lines = [(r.case, r.mode, *(k.us for k in known[r.key]), r.us, 100 * r.spread) for r in outside]
columns = {"case": "", "mode": "", "first": "µs .1f", "second": "µs .1f", "third": "µs .1f"}
columns |= {"its spread": "% .1f"}
tclab.show(table("Not as stated", columns, lines, name="outside", caption=caption))

# claim: nineteen-of-twenty-are-as-stated
assert shares["third", "all"] >= 95
# claim: so-are-the-eager-rows-of-a-fourth
assert shares["fourth, eager", "all"] >= 95
launches = [book.rows["ceilings/launch@eager", "eager"].us for book in (first, third)]
# claim: the-third-machine-launches-slower
assert launches[1] > 1.2 * launches[0]
NAMES = "gpu", "cpu", "cores", "driver", "torch", "triton"
# claim: by-name-the-machines-are-alike
assert all(first.environment[name] == third.environment[name] for name in NAMES)
# claim: so-what-waits-is-slower-there
assert shifts["third", "it waits for launches"] > 1.2
# claim: what-is-busy-is-not
assert 0.97 < shifts["third", "the GPU is busy"] < 1.03
# claim: gains-of-what-waits-are-farther-apart
assert of_waiting[2] > 2 * of_busy[2]
moved = [row for row in outside if calm(*known[row.key])]
# claim: what-was-busy-and-moved-is-mostly-slower
assert sum(row.us > known[row.key][0].us for row in moved) > 2 / 3 * len(moved) > 1
