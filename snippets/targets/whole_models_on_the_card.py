"""Models of timm and transformers, for the H200 and on one.

Each model of the corpus has random weights, those for text a few layers, and was compiled twice
by the same PyTorch: on the GPU by plain `torch.compile`, and for the target in a process that sees
no GPU.
"""
# tclab: reads=records/h200-torch2.11/whole_models.json

import json
from collections import Counter
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records" / "h200-torch2.11")
path = next(p / "whole_models.json" for p in places if (p / "whole_models.json").exists())
record = json.loads(path.read_text(encoding="utf-8"))
models = record["models"]
COUNTS = ("identical", "measured", "either", "different", "refused")
WORDS = {"measured": "of them by a measured choice", "either": "open"}

kernels = Counter()
verdicts = Counter(model["verdict"] for model in models)
for model in models:
    kernels.update({name: model[name] for name in ("kernels", *COUNTS)})

# claim: more-than-thirty-in-inference
assert sum(model["name"].startswith(("text/", "vision/")) for model in models) >= 30
# claim: more-than-ten-in-training
assert sum(model["name"].startswith("training/") for model in models) >= 10
# claim: compared-on-one-day
assert {model["compared"] for model in models} == {record["recorded"]}
# claim: each-model-is-answered
assert set(verdicts) <= {"identical", "open", "same kernels"}
(open_one,) = (model for model in models if model["verdict"] == "open")
# claim: an-open-one-has-identical-kernels
assert open_one["identical"] == open_one["kernels"] and open_one["why"].startswith("1 padding")
# claim: none-is-refused
assert kernels["refused"] == 0 and "refused" not in verdicts
# claim: none-is-different
assert kernels["different"] == 0 and "different" not in verdicts
# claim: each-kernel-is-identical
assert kernels["identical"] == kernels["kernels"] > 0 and kernels["either"] == 0
# claim: some-by-a-measured-choice
assert 0 < kernels["measured"] < kernels["kernels"] / 20

made = record["environment"]
caption = f"{made['gpu']}, PyTorch {made['torch']}, Triton {made['triton']}, {record['recorded']}"
share = [(WORDS.get(name, name), kernels[name], 100 * kernels[name] / kernels["kernels"])
         for name in COUNTS]  # fmt: skip
tclab.show(tclab.Table(
    title="Kernels of whole models", name="totals", columns=("kernels", "number", "share"),
    rows=[*share, ("all", kernels["kernels"], 100)],
    units=("", "", "%"), formats=("", "d", ".1f"), caption=caption,
))  # fmt: skip
rows = [(verdict, number) for verdict, number in verdicts.most_common()]
tclab.show(
    tclab.Table("Verdicts", "verdicts", ("verdict", "models"), [*rows, ("all", len(models))])
)
ORDER = ("failed", "gpu failed", "refused", "different", "open", "same kernels")
worst = {verdict: place for place, verdict in enumerate((*ORDER, "identical"))}
tclab.show(tclab.Table(
    title="Model by model", name="models",
    columns=("model", "verdict", "kernels", *(WORDS.get(name, name) for name in COUNTS), "why"),
    rows=[(m["name"], m["verdict"], m["kernels"], *(m[count] for count in COUNTS), m["why"])
          for m in sorted(models, key=lambda m: (worst[m["verdict"]], m["name"]))],
    caption=caption,
))  # fmt: skip
