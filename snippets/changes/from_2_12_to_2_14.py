"""What PyTorch 2.12 and 2.14 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.12.json,records/versions/torch2.14.json

from _step import bodies, grown, step_to

step = step_to("2.12", "2.14")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.12", "2.14")

MAXIMUM = "max2 and fmax2 in the online softmax"
titles = {cause.form.title for part in step.parts.values() for cause in part.causes}

# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: random-numbers-are-drawn-by-another-helper
assert any("rand4x" in title for title in titles)
# claim: a-maximum-without-nan
assert MAXIMUM in titles
# claim: a-batch-norm-takes-another-root
assert ["rsqrt" in each for each in bodies(step, "reductions/batch_norm_eval")] == [False, True]
# claim: no-model-plans-more
assert grown(step) == ["reductions/softmax_columns"]
