"""Which products an H200 pads: measured twice, one product at a time on the idle GPU.

PyTorch's own code timed each of them seven times, unpadded and padded. It pads where one timing
says that the product takes more than 1.1 times as long unpadded; here the median counts. The second
recording is of another process, later. In the third, 16 compiles at a time shared the GPU, and each
timed what it asked for once.
"""
# tclab: reads=records/h200-torch2.11/padding*.json

import json
from pathlib import Path

import tclab
from tclab.capturing.target.timing.measured import Ratio

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records" / "h200-torch2.11")
PADS_ABOVE = 1.1


def recording(name):
    """A recording, and of each product the least, median and most of its ratios."""
    path = next(place / name for place in places if (place / name).exists())
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept, {row["key"]: row["ratio"] for row in kept["products"]}


def decided(least, median, most):
    """The limit is outside of the spread, by as much again."""
    return most + (most - least) <= PADS_ABOVE or least - (most - least) > PADS_ABOVE


(first, one), (second, two) = recording("padding.json"), recording("padding_again.json")
shared = recording("padding_shared.json")[1]
in_company = [key for key in shared if shared[key][1] > PADS_ABOVE]
both = one.keys() & two.keys()
medians = [(one[key][1] > PADS_ABOVE, two[key][1] > PADS_ABOVE) for key in both]
apart = [key for key in both if decided(*one[key]) != decided(*two[key])]

# claim: more-than-250-products
assert len(both) > 250
# claim: the-medians-never-disagree
assert all(a == b for a, b in medians)
# claim: open-within-the-spread
assert all(bool(Ratio(*ratio).answer) == decided(*ratio) for ratio in one.values())
assert not all(decided(*ratio) for ratio in one.values())
# claim: none-was-padded
assert not any(ratio[1] > PADS_ABOVE for ratio in (*one.values(), *two.values()))
# claim: under-a-tenth-is-open-in-one-alone
assert 0 < len(apart) < 0.1 * len(both)
# claim: in-company-one-in-ten-was-padded
assert 0.08 * len(shared) < len(in_company) < 0.12 * len(shared) and shared.keys() <= one.keys()


def padded(ratios):
    """How many products are padded by their median."""
    return sum(ratio[1] > PADS_ABOVE for ratio in ratios.values())


def left_open(ratios):
    """How many products their spread leaves open."""
    return sum(not decided(*ratio) for ratio in ratios.values())


tclab.show(tclab.Table(
    title="The same products timed alone, twice, and in company", name="recordings",
    columns=("products", "alone", "alone again", "in company"),
    rows=[("timed", len(one), len(two), len(shared)),
          ("padded", padded(one), padded(two), padded(shared)),
          ("left open by their spread", left_open(one), left_open(two), ""),
          ("left open in one of the two alone", len(apart), "", "")],
    caption=f"{first['environment']['gpu']}, PyTorch {first['environment']['torch']}, "
            f"{first['recorded']}; {first['repeats']} timings of each product in "
            f"{first['seconds']:.0f} s and {second['seconds']:.0f} s, one of each in company",
))  # fmt: skip
