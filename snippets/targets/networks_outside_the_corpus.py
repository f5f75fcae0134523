"""Networks of timm and transformers that no rule was written with, for the H200 and on one.

They were chosen first, with random weights, and compared before any rule was mended for them; then
again. On the GPU plain `torch.compile` compiles them, for the target a process that sees no GPU.
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
COUNTS = {"identical": "identical", "of them by a measured choice": "measured",
          "open": "either", "different": "different", "refused": "refused"}  # fmt: skip


def total(rows, count):
    return sum(row.get(count, 0) for row in rows)


again = [network for network in networks if "before" in network]
before = [network["before"] for network in again]
kernels = total(networks, "kernels")

# claim: more-than-fifty
assert len(networks) > 50
# claim: some-in-training
assert sum(network["name"].endswith("_training") for network in networks) > 10
# claim: compared-on-one-day
assert {network["compared"] for network in networks} == {record["recorded"]}
# claim: ninety-nine-in-a-hundred
assert total(networks, "identical") > 0.99 * kernels
# claim: none-is-different-or-refused
assert total(networks, "different") == total(networks, "refused") == 0
# claim: one-in-two-hundred-is-open
assert 0 < total(networks, "either") <= 0.005 * kernels
# claim: at-most-four-of-one-network
assert max(network["either"] for network in networks) == 4
# claim: one-in-six-by-a-measured-choice
assert kernels / 7 < total(networks, "measured") < kernels / 6
# claim: some-were-different
assert total(before, "different") > 10
# claim: nearly-one-in-ten-was-open
assert 0.08 * total(before, "kernels") < total(before, "either") < 0.1 * total(before, "kernels")

caption = f"{made['gpu']}, PyTorch {made['torch']}, Triton {made['triton']}, {record['recorded']}"
rows = [(word, total(before, count), total(again, count), total(networks, count))
        for word, count in COUNTS.items()]  # fmt: skip
sides = [total(side, "kernels") for side in (before, again, networks)]
tclab.show(tclab.Table(
    title="Kernels of networks outside the corpus", name="totals",
    columns=("kernels", f"before, {len(again)} networks", "the same networks now",
             f"all {len(networks)} now"),
    rows=[*rows, ("all", *sides)], caption=caption,
))  # fmt: skip
tclab.show(tclab.Table(
    title="Network by network", name="networks", columns=("network", "kernels", *COUNTS, "why"),
    rows=[(n["name"], n["kernels"], *(n[count] for count in COUNTS.values()), n["why"])
          for n in networks], caption=caption,
))  # fmt: skip
