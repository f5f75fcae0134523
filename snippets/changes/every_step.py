"""Four steps beside each other, from five recorded versions of PyTorch.

Of each function and model of the catalogue, compiled for GPUs that were not there.
"""
# tclab: reads=records/versions/torch*.json

import re
from itertools import pairwise

from _step import between, recorded

import tclab

RELEASES = ("2.11", "2.12", "2.13", "2.14", "2.15")
#: What #198333 is about: random numbers for a block at once.
PATTERN = re.compile(r"triton_helpers\.randn?4x\(")

versions = [recorded(release) for release in RELEASES]
steps = [between(old, new) for old, new in pairwise(RELEASES)]


def row(step):
    """What differs from one release to the next, in numbers."""
    parts = step.parts.values()
    pairs = sum(len(part.kernels) for part in parts)
    differing = sum(part.differing for part in parts)
    names = {pair.before.name for part in parts for pair in part.possibly_different}
    memory = {name for part in parts for name, old, new in part.memory if new > old}
    unnamed = sum(part.unnamed for part in parts)
    name = f"{step.before.release} to {step.after.release}"
    return name, differing, pairs, unnamed, len(names), len(memory)


def with_pattern(version):
    """Kernels of a version that have the pattern of #198333, and all."""
    kernels = [k for each in version.compiles if each.snapshot for k in each.snapshot.kernels]
    return sum(bool(PATTERN.search(k.body)) for k in kernels), len(kernels)


rows = [row(step) for step in steps]
tclab.show(
    tclab.Table(
        "From one version to the next",
        "steps",
        ("from", "kernels that differ", "kernels compared", "cause not known",
         "functions and models whose numbers may move", "that plan more memory"),
        rows,
    )
)  # fmt: skip
patterns = [(version.release, *with_pattern(version)) for version in versions]
tclab.show(
    tclab.Table(
        "Kernels with rand4x or randn4x",
        "rand4x",
        ("PyTorch", "kernels with it", "kernels"),
        patterns,
    )
)

own = [{e.key for e in version.compiles if e.corpus == "functions"} for version in versions]

# claim: five-versions
assert tuple(version.release for version in versions) == RELEASES
# claim: the-same-names-were-compiled
assert all(keys == own[0] for keys in own) and len(own[0]) > 100
# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for step in steps for part in step.parts.values())
# claim: the-pattern-came-and-went
assert [release for release, number, _ in patterns if number] == ["2.13", "2.14"]
