"""What a compile costs, and after how many calls it has paid for itself.

Seconds are those of a process that has imported PyTorch and compiled nothing, with empty caches
and one compile thread, beside as many other compiles as the table says. They hold the first call
and what later calls recorded. Break-even is these seconds over the time that each call saves.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

import statistics

from _recorded import by_case, modes_of, recorded, where
from _tables import table

import tclab

book = recorded()
caption = where(book)
lines, short, compiled = [], [], []


def memory(row):
    """Peak MiB of a call, and that over eager's; not of CUDA graphs, whose memory is their own."""
    if row.mode != "default":
        return None, None
    peaks = [r.facts["peak_bytes"] / 2**20 for r in (row, book.rows[row.case, "eager"])]
    return peaks[0], peaks[0] / peaks[1]


for phase in ("kernel", "inference", "training"):
    cases = by_case(book, phase)
    for mode in modes_of(cases):
        rows = [r[mode] for r in cases.values() if mode in r and r[mode].ok]
        if not rows:
            continue
        compiled += rows
        paid = [row.paid_seconds for row in rows]
        calls = [row.break_even for row in rows if row.break_even]
        half = int(statistics.median(calls)) if calls else None
        middle, most = statistics.median(paid), max(paid)
        short.append((phase, mode, len(rows), middle, most, len(calls), half))
        for row in rows if phase != "kernel" else ():
            cost = row.paid_seconds, row.facts["recording_s"], row.facts["warm_calls"]
            lines.append((row.case, mode, *cost, row.break_even, *memory(row), row.facts["beside"]))

columns = {"": "", "mode": "", "measured": "", "seconds, median": "s .1f", "most": "s .1f"}
columns |= {"that pay": "", "calls, median": " ,d"}
tclab.show(table("What a compile costs", columns, short, name="short", caption=caption))
columns = {"model": "", "mode": "", "until warm": "s .1f", "of which recording": "s .2f"}
columns |= {"calls until warm": "", "calls to break even": " ,d", "peak memory": "MiB .0f"}
columns |= {"× eager's": " .2f", "beside": ""}
lines.sort(key=lambda line: line[5] or 1e12)
tclab.show(table("Models, the soonest first", columns, lines, name="models", caption=caption))

pays = [line for line in lines if line[5]]
never = [line for line in lines if not line[5]]
axes = {"x_label": "models and modes that gain, the soonest first", "y_label": "calls"}
axes |= {"x": range(1, len(pays) + 1), "log_y": True, "caption": caption}
series = {"calls": [line[5] for line in pays]}
tclab.show(tclab.Chart("When a compile has paid", name="paid", series=series, **axes))
figures = [("pay", len(pays)), ("never", len(never)), ("first", pays[0][5])]
tclab.show(table("In short", {"": "", "number": " ,d"}, figures, name="figures", caption=caption))
# claim: it-takes-many-calls
assert pays[0][5] > 1000
# claim: recording-is-counted
assert any(line[3] > 0 for line in lines if line[1] == "reduce-overhead")
# claim: a-dash-is-a-median-not-below-eagers
assert all((row.break_even is None) == (row.us >= row.eager_us) for row in compiled)
apart = [row for row in compiled if (row.break_even is None) != (row.speed_up <= 1)]
# claim: where-it-differs-from-the-gain-both-are-unstable
assert apart and all(r.unstable and book.rows[r.case, "eager"].unstable for r in apart)
