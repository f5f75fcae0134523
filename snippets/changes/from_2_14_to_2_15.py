"""What PyTorch 2.14 and 2.15 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[45].json,docs/reference/names/2.*.txt

import _step
from _step import breaks, kernels_of_models, moving, same_recompiles, step_to

step = step_to("2.14", "2.15")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.14", "2.15")
functions = step.part("functions", "h200")

# claim: only-random-numbers
assert [cause.form.issue for cause in functions.causes] == ["pytorch#198333"]
# claim: the-same-operators
assert not any(pair.other_operators for pair in functions.pairs)

# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: the-same-memory
assert not any(part.memory for part in step.parts.values())
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (4, 106), "models": (5, 13)}
# claim: as-many-breaks
assert breaks(step) == {"new": 1, "gone": 1}
old, new = kernels_of_models(step)
# claim: models-have-fewer-kernels
assert new < old
# claim: recompiles-are-as-before
assert same_recompiles(step)
# claim: another-triton-and-cuda
assert _step.needs(step) == [("3.8.0", "13.0"), ("3.9.0", "13.2")]
settings = _step.show_settings(step)
# claim: two-settings-are-gone
assert settings["gone"] == {
    "inductor.autoheuristic_collect.mixed_mm", "inductor.autoheuristic_use.mixed_mm",
}  # fmt: skip
# claim: which-defaults-differ
assert settings["another default"] == {
    "inductor.combo_kernel_max_distance", "inductor.triton.nested_reduction",
}  # fmt: skip
