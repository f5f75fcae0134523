"""What PyTorch 2.12 and 2.14 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[24].json,docs/reference/names/2.*.txt

import _step
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
# claim: no-training-step-plans-more
assert _step.trained(step) == {"more": set(), "less": {"training/llama"}}
# claim: breaks-of-t5-and-whisper-are-gone
assert breaks(step)["gone"] == 16 and _step.broken(step)["gone"] == {"text/t5", "text/whisper"}
# claim: no-break-is-new
assert breaks(step)["new"] == 0
# claim: models-have-fewer-kernels
assert kernels_of_models(step) == (678, 656)
# claim: compiled-for-which-gpus
assert {("models", "a100"), ("models", "h200")} < {*step.parts}
# claim: recompiles-are-as-before
assert _step.same_recompiles(step)
# claim: another-triton-the-same-cuda
assert _step.needs(step) == [("3.7.1", "13.0"), ("3.8.0", "13.0")]
settings = _step.show_settings(step)
# claim: five-settings-are-gone
assert len(settings["gone"]) == 5 and "dynamo.skip_fsdp_hooks" in settings["gone"]
# claim: twelve-defaults-differ
assert len(settings["another default"]) == 12
# claim: what-dynamo-does-otherwise
assert {name for name in settings["another default"] if name.startswith("dynamo.")} == {
    "dynamo.use_lamba_guard_for_object_aliasing",
}  # fmt: skip
# claim: neither-the-limit-nor-dynamic-shapes
assert not _step.COMPILES_AGAIN & settings["another default"]
fusions = [each.form for each in causes if each.form.title == "another fusion or decomposition"]
# claim: some-fuse-other-operators
assert fusions and all(form.can_move_numbers for form in fusions)
# claim: new-settings-for-precision
assert {_step.KEEP_ADDMM, _step.EMULATE_CASTS} & settings["new and on"] == {_step.EMULATE_CASTS}
