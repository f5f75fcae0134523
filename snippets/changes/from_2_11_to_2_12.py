"""What PyTorch 2.11 and 2.12 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[12].json,docs/reference/names/2.*.txt

import _step
from _step import breaks, grown, moving, same_recompiles, step_to

step = step_to("2.11", "2.12")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.11", "2.12")
# claim: each-function-compiles-under-both-or-neither
assert not step.part("functions", "h200").on_one_side
# claim: random-numbers-are-drawn-as-before
assert "pytorch#198333" not in {c.form.issue for c in step.part("functions", "h200").causes}

causes = [cause for part in step.parts.values() for cause in part.causes]

fusions = [each.form for each in causes if each.form.title == "another fusion or decomposition"]
# claim: some-fuse-other-operators
assert fusions and all(form.can_move_numbers for form in fusions)
# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: three-plan-more
assert grown(step)[:2] == ["text/clip", "products/conv_bn_relu_pool"] and len(grown(step)) == 3
planned = {row[0]: row for part in step.parts.values() for row in part.memory}
# claim: clip-plans-half-more
assert {name for name, before, after, *_ in planned.values() if after > 1.5 * before} == {
    "text/clip", "products/conv_bn_relu_pool"
}  # fmt: skip
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (18, 105), "models": (10, 13)}
# claim: as-many-breaks
assert breaks(step) == {"new": 6, "gone": 6}
# claim: recompiles-are-as-before
assert same_recompiles(step)
# claim: another-triton-and-cuda
assert _step.needs(step) == [("3.6.0", "13.0"), ("3.7.1", "13.0")]
settings = _step.show_settings(step)
# claim: three-settings-are-gone
assert settings["gone"] == {
    "inductor.autoheuristic_collect", "inductor.autoheuristic_use",
    "inductor.triton.enable_tlx_templates",
}  # fmt: skip
# claim: which-defaults-differ
assert settings["another default"] == {
    "dynamo.enable_aot_compile", "dynamo.skip_guards_on_constant_func_defaults",
    "dynamo.use_recursive_dict_tags_for_guards", "functorch.guess_tangent_strides_as_outputs",
    "inductor.aten_distributed_optimizations.bucket_exposed_first",
}  # fmt: skip
