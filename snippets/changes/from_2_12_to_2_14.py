"""What PyTorch 2.12 and 2.14 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.12.json,records/versions/torch2.14.json

from _step import bodies, breaks, grown, kernels_of_models, moving, shrunk, step_to

step = step_to("2.12", "2.14")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.12", "2.14")

MAXIMUM = "max2 and fmax2 in the online softmax"
causes = [cause for part in step.parts.values() for cause in part.causes]
titles = {cause.form.title for cause in causes}

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
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (28, 106), "models": (13, 13)}
# claim: two-models-plan-less
assert shrunk(step) == {"text/t5", "training/llama"}
# claim: fewer-breaks
assert breaks(step) == {"new": 0, "gone": 16}
old, new = kernels_of_models(step)
# claim: models-have-fewer-kernels
assert new < old
fusions = [each.form for each in causes if each.form.title == "another fusion or decomposition"]
# claim: some-fuse-other-operators
assert fusions and all(form.can_move_numbers for form in fusions)
