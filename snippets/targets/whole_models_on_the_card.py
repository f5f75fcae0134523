"""Models of timm and transformers, for the H200 and on one.

Each model of the corpus has random weights, those for text a few layers, and was compiled twice by the same PyTorch: on the GPU
by plain `torch.compile`, and for the target in a process that sees no GPU. The file has what came
of it; a model that was compared again after a mend has the row of its last comparison, and its day.
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
WORDS = {"measured": "of them by a measured choice", "either": "one of two"}

kernels = Counter()
verdicts = Counter(model["verdict"] for model in models)
for model in models:
    kernels.update({name: model[name] for name in ("kernels", *COUNTS)})

# claim: more-than-thirty-in-inference
assert sum(model["name"].startswith(("text/", "vision/")) for model in models) >= 30
# claim: more-than-ten-in-training
assert sum(model["name"].startswith("training/") for model in models) >= 10
# claim: none-is-refused
assert kernels["refused"] == 0 and "refused" not in verdicts
# claim: nine-tenths-of-the-kernels-are-identical
assert kernels["identical"] > 0.9 * kernels["kernels"]
# claim: most-of-the-rest-is-one-of-two
assert kernels["either"] > 0.9 * (kernels["kernels"] - kernels["identical"])
# claim: two-in-a-hundred-are-open
assert kernels["either"] <= 0.02 * kernels["kernels"]
# claim: none-is-different
assert kernels["different"] == 0 and "different" not in verdicts
# claim: each-model-is-answered
assert set(verdicts) <= {"identical", "one of two", "same kernels"}

told = record["environment"]
caption = f"{told['gpu']}, PyTorch {told['torch']}, Triton {told['triton']}, {record['recorded']}"
share = [
    (WORDS.get(name, name), kernels[name], 100 * kernels[name] / kernels["kernels"])
    for name in COUNTS
]
tclab.show(
    tclab.Table(
        title="Kernels of whole models",
        name="totals",
        columns=("kernels", "number", "share"),
        rows=[*share, ("all", kernels["kernels"], 100)],
        units=("", "", "%"),
        formats=("", "d", ".1f"),
        caption=caption,
    )
)
rows = [(verdict, number) for verdict, number in verdicts.most_common()]
tclab.show(
    tclab.Table("Verdicts", "verdicts", ("verdict", "models"), [*rows, ("all", len(models))])
)
ORDER = ("failed", "gpu failed", "refused", "different", "one of two", "same kernels")
worst = {verdict: place for place, verdict in enumerate((*ORDER, "identical"))}
lines = [
    (
        model["name"],
        model["verdict"],
        model["kernels"],
        *(model[n] for n in COUNTS),
        model["why"],
        model["compared"],
    )
    for model in sorted(models, key=lambda model: (worst[model["verdict"]], model["name"]))
]
columns = (
    "model",
    "verdict",
    "kernels",
    *(WORDS.get(name, name) for name in COUNTS),
    "why",
    "compared",
)
tclab.show(tclab.Table("Model by model", "models", columns, lines, caption=caption))
