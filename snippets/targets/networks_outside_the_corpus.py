"""Networks of timm that are in no corpus, for the H200 and on one.

None was looked at while the rules for targets were written. Each has random weights, and was
compiled on the GPU by plain `torch.compile` and for the target where the GPU is hidden.
"""
# tclab: reads=records/h200-torch2.11/networks_outside_the_corpus.json

import json
from pathlib import Path

import tclab

NAME = "networks_outside_the_corpus.json"
here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records" / "h200-torch2.11")
path = next(place / NAME for place in places if (place / NAME).exists())
record = json.loads(path.read_text(encoding="utf-8"))
networks, made = record["models"], record["environment"]
COUNTS = {"identical": "identical", "one of two": "either",
          "different": "different", "refused": "refused"}  # fmt: skip
total = sum(network["kernels"] for network in networks)
numbers = {word: sum(n[count] for n in networks) for word, count in COUNTS.items()}
different = [network for network in networks if network["different"]]

# claim: more-than-twenty-networks
assert len(networks) > 20
# claim: nine-tenths-are-identical
assert numbers["identical"] > 0.9 * total
# claim: some-are-different
assert 0 < numbers["different"] < 0.02 * total
# claim: only-where-paddings-are-timed
assert all("paddings" in network["why"] for network in different)

caption = f"{made['gpu']}, PyTorch {made['torch']}, Triton {made['triton']}, {record['recorded']}"
rows = [(word, number, 100 * number / total) for word, number in numbers.items()]
tclab.show(tclab.Table(
    title="Kernels of networks outside the corpus", name="totals",
    columns=("kernels", "number", "share"), units=("", "", "%"), formats=("", "d", ".1f"),
    rows=[*rows, ("all", total, 100)], caption=caption,
))  # fmt: skip
tclab.show(tclab.Table(
    title="Networks with a kernel that is different", name="different",
    columns=("network", "kernels", *COUNTS, "why"), caption=caption,
    rows=[(n["name"], n["kernels"], *(n[count] for count in COUNTS.values()), n["why"])
          for n in different],
))  # fmt: skip
