"""What PyTorch 2.13 and 2.14 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[34].json,docs/reference/names/2.*.txt

import _step
from _step import bodies, breaks, grown, kernels_of_models, moving, same_recompiles, shrunk, step_to

step = step_to("2.13", "2.14")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.13", "2.14")
functions = step.part("functions", "h200")

# claim: each-kernel-that-differs-has-a-named-cause
assert functions.differing > 0 == functions.unnamed
# claim: a-permutation-compiles
assert [pair.before.name for pair in functions.on_one_side] == ["indexing/random_permutation"]
# claim: no-memory-more
assert not [row for row in functions.memory if row[2] > row[1]]

MAXIMUM = "max2 and fmax2 in the online softmax"
titles = {cause.form.title for part in step.parts.values() for cause in part.causes}

# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: a-maximum-without-nan
assert MAXIMUM in titles
# claim: a-batch-norm-takes-another-root
assert ["rsqrt" in each for each in bodies(step, "reductions/batch_norm_eval")] == [False, True]
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (12, 106), "models": (13, 13)}
# claim: nothing-plans-more
assert (len(grown(step)), shrunk(step)) == (0, {"training/llama"})
# claim: the-same-breaks
assert breaks(step) == {"new": 0, "gone": 0}
old, new = kernels_of_models(step)
# claim: models-have-as-many-kernels
assert new == old
# claim: recompiles-are-as-before
assert same_recompiles(step)
# claim: another-triton
assert [triton for triton, _ in _step.needs(step)] == ["3.7.1", "3.8.0"]
settings = _step.show_settings(step)
# claim: two-settings-are-gone
assert settings["gone"] == {
    "inductor.cuda.nvgemm_max_profiling_configs", "inductor.partitioned_scatter_memory_budget",
}  # fmt: skip
# claim: which-defaults-differ
assert settings["another default"] == {
    "dynamo.use_lamba_guard_for_object_aliasing", "inductor.partitioned_scatter_max_partitions",
    "inductor.rocm.origami",
}  # fmt: skip
