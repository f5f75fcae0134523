"""Four steps beside each other, from five recorded versions of PyTorch.

Of each function and model of the catalogue, compiled for GPUs that were not there; of the claims of
the snippets that were tried; of the beliefs.
"""
# tclab: reads=records/versions/torch*.json

import re
from itertools import pairwise

from _step import recorded

import tclab
from tclab.site.versions.step import Step

RELEASES = ("2.11", "2.12", "2.13", "2.14", "2.15")
#: What #198333 is about: random numbers for a block at once.
PATTERN = re.compile(r"triton_helpers\.randn?4x\(")

versions = [recorded(release) for release in RELEASES]
steps = [Step(old, new) for old, new in pairwise(versions)]


def row(step):
    """What differs from one release to the next, in numbers."""
    parts = step.parts.values()
    pairs = sum(len(part.kernels) for part in parts)
    differing = sum(part.differing for part in parts)
    names = {pair.before.name for part in parts for pair in part.possibly_different}
    memory = {name for part in parts for name, old, new in part.memory if new > old}
    claims = len(step.became_false), len(step.became_true), len(step.verdicts)
    name = f"{step.before.release} to {step.after.release}"
    return name, differing, pairs, len(names), len(memory), *claims


def with_pattern(version):
    """Kernels of a version that have the pattern of #198333, and all."""
    kernels = [k for each in version.compiles if each.snapshot for k in each.snapshot.kernels]
    return sum(bool(PATTERN.search(k.body)) for k in kernels), len(kernels)


rows = [row(step) for step in steps]
tclab.show(
    tclab.Table(
        "From one version to the next",
        "steps",
        ("from", "kernels that differ", "of", "compiles whose numbers may move",
         "more memory planned", "sentences no longer so", "sentences since", "beliefs"),
        rows,
    )
)  # fmt: skip
patterns = [(version.release, *with_pattern(version)) for version in versions]
tclab.show(
    tclab.Table(
        "Kernels with rand4x or randn4x",
        "rand4x",
        ("PyTorch", "kernels with it", "of"),
        patterns,
    )
)

own = [{e.key for e in version.compiles if e.corpus == "functions"} for version in versions]

# claim: five-versions
assert tuple(version.release for version in versions) == RELEASES
# claim: the-same-names-were-compiled
assert all(keys == own[0] for keys in own) and len(own[0]) > 100
# claim: the-pattern-came-and-went
assert [release for release, number, _ in patterns if number] == ["2.13", "2.14"]
