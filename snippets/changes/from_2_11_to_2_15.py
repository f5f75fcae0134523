"""What PyTorch 2.11 and 2.15 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[15].json,docs/reference/names/2.*.txt

import _step
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
# claim: no-training-step-plans-more
assert _step.trained(step)["more"] == set()
# claim: breaks-of-t5-and-whisper-are-gone
assert breaks(step)["gone"] == 9 and {"text/t5", "text/whisper"} < _step.broken(step)["gone"]
# claim: an-lstm-has-another-break
assert _step.broken(step)["new"] == {"products/lstm"} < _step.broken(step)["gone"]
# claim: models-have-fewer-kernels
assert kernels_of_models(step) == (321, 317)
# claim: compiled-for-which-gpus
assert {*step.parts} == {("functions", "h200"), ("models", "a100")}
# claim: recompiles-are-as-before
assert _step.same_recompiles(step)
# claim: another-triton-and-cuda
assert _step.needs(step) == [("3.6.0", "13.0"), ("3.9.0", "13.2")]
settings = _step.show_settings(step)
# claim: eight-settings-are-gone
assert len(settings["gone"]) == 8 and "dynamo.skip_fsdp_hooks" in settings["gone"]
# claim: thirteen-defaults-differ
assert len(settings["another default"]) == 13
# claim: what-dynamo-does-otherwise
assert {name for name in settings["another default"] if name.startswith("dynamo.")} == {
    "dynamo.enable_aot_compile", "dynamo.skip_guards_on_constant_func_defaults",
    "dynamo.use_lamba_guard_for_object_aliasing", "dynamo.use_recursive_dict_tags_for_guards",
}  # fmt: skip
# claim: neither-the-limit-nor-dynamic-shapes
assert not _step.COMPILES_AGAIN & settings["another default"]
# claim: new-settings-for-precision
assert {_step.KEEP_ADDMM, _step.EMULATE_CASTS} <= settings["new and on"]
