"""What PyTorch 2.11 and 2.15 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.11.json,records/versions/torch2.15.json

from _step import bodies, breaks, grown, kernels_of_models, moving, step_to

step = step_to("2.11", "2.15")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.11", "2.15")

MAXIMUM = "max2 and fmax2 in the online softmax"
causes = [cause for part in step.parts.values() for cause in part.causes]
titles = {cause.form.title for cause in causes}

fusions = [each.form for each in causes if each.form.title == "another fusion or decomposition"]
# claim: some-fuse-other-operators
assert fusions and all(form.can_move_numbers for form in fusions)
# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: a-maximum-without-nan
assert MAXIMUM in titles
# claim: random-numbers-as-before
assert not any("rand4x" in title for title in titles)
# claim: three-plan-more
assert grown(step)[0] == "text/clip" and len(grown(step)) == 3
planned = {row[0]: row for part in step.parts.values() for row in part.memory}
# claim: clip-plans-half-more
assert {name for name, before, after, *_ in planned.values() if after > 1.5 * before} == {
    "text/clip", "products/conv_bn_relu_pool"
}  # fmt: skip
# claim: a-batch-norm-takes-another-root
assert ["rsqrt" in each for each in bodies(step, "reductions/batch_norm_eval")] == [False, True]
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (34, 105), "models": (13, 13)}
# claim: fewer-breaks
assert breaks(step) == {"new": 1, "gone": 9}
old, new = kernels_of_models(step)
# claim: models-have-fewer-kernels
assert new < old
