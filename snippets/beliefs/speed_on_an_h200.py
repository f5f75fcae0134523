"""Beliefs about speed, judged on whole models and single kernels, as an H200 ran them."""
# tclab: reads=records/h200-torch2.11/*.jsonl

from pathlib import Path

from _beliefs import DOES_NOT, Beliefs

from tclab.workshop.bench.rows import read

SPREAD = 1.03  # less is called equal; many rows vary by more
beliefs, here = Beliefs("Speed on an H200"), Path(__file__).resolve()
places = [here.parent, here.parents[2] / "records" / "h200-torch2.11"]
book = read(next(path for place in places for path in sorted(place.glob("*-suite*.jsonl"))))
on = f"{book.environment['gpu']}, PyTorch {book.environment['torch'].split('+')[0]}"


def times(mode, *phases):
    """Microseconds of a call or a step, by case, of what was measured."""
    return {r.case: r.us for r in book if r.mode == mode and r.phase in phases and r.ok}


def never_slower(mode, than, *phases):
    """Whether nothing is slower in `mode` by over three percent, with how many cases are."""
    mine, other = times(mode, *phases), times(than, *phases)
    both = mine.keys() & other.keys()
    slower = sum(mine[case] > SPREAD * other[case] for case in both)
    return not slower, f"{slower} of {len(both)} slower"


faster = beliefs.judge(
    "A compiled model is faster than eager",
    {
        "inference, by default": never_slower("default", "eager", "inference"),
        "training, by default": never_slower("default", "eager", "training"),
        "inference, with reduce-overhead": never_slower("reduce-overhead", "eager", "inference"),
    },
    on,
)
# claim: some-models-are-slower
assert "default" not in faster
tuned = beliefs.judge(
    "`max-autotune` is the fastest mode",
    {
        "of the models": never_slower("max-autotune", "reduce-overhead", "sweep", "training"),
        "of single kernels": never_slower("max-autotune", "default", "kernel"),
    },
    on,
)
# claim: max-autotune-is-not-always-first
assert tuned == DOES_NOT
beliefs.show()
