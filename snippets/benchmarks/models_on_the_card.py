"""Models with random weights: what each mode makes of them, in inference and training.

Inference is the forward in bfloat16 without gradients, at a large batch and at one; training a
step of forward under autocast, backward and AdamW with float32 weights. Every row was compared
with eager and with float64 before it was timed.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/*/*.jsonl

from _recorded import MEAN_COLUMNS, by_case, means, modes_of, recorded, speed, where
from _tables import table
from _waiting import Waiting

import tclab

book = recorded()
caption = where(book)


def kinds():
    """The cases of a group, by what the group is called."""
    inference = by_case(book, "inference")
    single = {name: rows for name, rows in inference.items() if name.endswith("@1")}
    large = {name: rows for name, rows in inference.items() if name not in single}
    return {"inference": large, "batch 1": single, "training": by_case(book, "training")}


def off(facts):
    """A mode's error over eager's, of the same call; None where eager's is none."""
    return facts["error"] / facts["eager_error"] if facts["eager_error"] else None


WAITS = {True: "yes", False: "no", None: None}
groups, waits = {kind: cases for kind, cases in kinds().items() if cases}, Waiting(book).of
lines, modes = [], modes_of(groups["inference"])
for kind, cases in groups.items():
    for name, rows in cases.items():
        model, _, batch = name.partition("/")[2].partition("@")
        shown = {mode: rows[mode] if speed(rows, mode) else None for mode in modes}
        gains = [(speed(rows, m), row and off(row.facts)) for m, row in shown.items()]
        graphs = next((r.facts.get("graphs") for r in rows.values() if r.mode == "default"), None)
        spread = 100 * max(row.spread for row in rows.values() if row.ok)
        eager = rows["eager"]
        first = model, kind, int(batch), eager.us / 1e3, WAITS[waits(eager)], eager.facts["error"]
        lines.append((*first, *(each for pair in gains for each in pair), graphs, spread))

columns = {"model": "", "": "", "batch": "", "eager": "ms .2f", "waits": "", "its error": " .1e"}
for mode in modes:
    columns |= {mode: "× .2f", f"{mode}'s error": "× .2f"}
columns |= {"graphs": "", "spread": "% .1f"}
lines.sort(key=lambda line: (line[1], -(line[6] or 0)))
said = "gains are eager's time over the mode's, errors the mode's over eager's"
head = {"name": "models", "caption": f"{caption}; {said}"}
tclab.show(table("Models", columns, lines, **head))

totals = [(kind, *line) for kind, cases in groups.items() for line in means(cases)]
head = {"name": "means", "caption": caption}
tclab.show(table("Geometric means", {"": "", **MEAN_COLUMNS}, totals, **head))
for kind, cases in groups.items():
    slug = kind.replace(" ", "-")
    head = {"name": f"means-{slug}", "caption": caption}
    tclab.show(table(f"Geometric means, {kind}", MEAN_COLUMNS, means(cases), **head))
    curves = {m: sorted(s for r in cases.values() if (s := speed(r, m))) for m in modes}
    longest = max(map(len, curves.values()))
    series = {m: c + [None] * (longest - len(c)) for m, c in curves.items() if c}
    axes = {"x_label": "models, the least gain first", "y_label": "× eager", "caption": caption}
    axes |= {"x": range(1, longest + 1), "series": series, "name": f"gains-{slug}"}
    tclab.show(tclab.Chart(f"Gains in {kind}", **axes))

large = {line[1]: line[3] for line in totals if line[0] == "inference"}
steady = {line[1]: line[-1] for line in totals if line[0] == "inference"}
# claim: models-gain-on-average
assert large["default"] > 1
# claim: graphs-gain-more
assert large["reduce-overhead"] > large["default"]
# claim: steady-models-gain-less-in-the-same-order
assert large["default"] > steady["default"] > 1
assert large["reduce-overhead"] > steady["reduce-overhead"] > steady["default"]
# claim: elsewhere-hardly-a-row-is-steady
assert all(line[-2] <= 3 < line[2] / 10 for line in totals if line[0] != "inference")
done = [line for line in lines if line[1] != "training" and line[7]]
near = {line[0]: line[7] for line in done if line[0].startswith("transformers/")}
# claim: most-of-transformers-are-nearer-to-float64-than-eager
assert sum(ratio < 0.95 for ratio in near.values()) > 0.8 * len(near), near
# claim: one-model-is-twice-as-far-off
assert [line[0] for line in done if line[7] > 2] == ["timm/mobilenetv3_large_100"]
steps = [row for each in (book, recorded("again"), recorded("third")) for row in each
         if row.phase == "training" and row.mode != "eager" and row.ok]  # fmt: skip
errors = [error for row in steps if (error := off(row.facts))]
# claim: in-training-errors-are-eagers
assert len(errors) > 100 and max(errors) < 1.1, errors
assert sum(error < 2 / 3 for error in errors) == 1, errors
defaults = [row for row in book if row.mode == "default" and row.ok]
unbroken = {r.case for r in defaults if r.facts.get("graphs", 0) > 1 and not r.facts["breaks"]}
# claim: several-graphs-need-no-break
assert unbroken == {"inference/timm/levit_128@1", "inference/timm/levit_128@64"}


def unsteady(kind, mode):
    """How many of a group were measured in a mode, and how many of them vary by above 3 %."""
    rows = [rows[mode] for rows in groups[kind].values() if speed(rows, mode)]
    return len(rows), sum(row.unstable for row in rows)


vary = {kind: {m: unsteady(kind, m) for m in ("eager", *modes)} for kind in groups}
every = {(kind, m): of / measured for kind, by in vary.items() for m, (measured, of) in by.items()}
# claim: launching-is-what-varies
assert vary["inference"]["reduce-overhead"][1] <= 2
assert min(every["inference", "default"], every["inference", "eager"]) > 0.5
# claim: a-step-varies-less-in-graphs
assert every["training", "reduce-overhead"] < 1 / 3
assert min(every["training", "default"], every["training", "eager"]) > 0.9
# claim: forty-models-were-trained
assert vary["training"]["default"][0] > 40
for kind in ("inference", "training"):
    rows = [(mode, *numbers) for mode, numbers in vary[kind].items()]
    head = {"name": f"unsteady-{kind}", "caption": caption}
    columns = {"mode": "", "measured": "", "spread above 3 %": ""}
    tclab.show(table(f"Unsteady rows, {kind}", columns, rows, **head))
models = [row.case.split("/", 1)[1] for row in book if row.phase in ("inference", "training")]
written_here = {model.split("@")[0] for model in models if model.startswith("torch/")}
# claim: from-timm-transformers-and-torch
assert {model.split("/")[0] for model in models} == {"timm", "transformers", "torch"}
assert written_here == {f"torch/{name}" for name in ("dlrm", "lstm", "transformer", "unet")}
