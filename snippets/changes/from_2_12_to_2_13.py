"""What PyTorch 2.12 and 2.13 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.1[23].json,docs/reference/names/2.*.txt

import _step
from _step import breaks, grown, kernels_of_models, moving, same_recompiles, shrunk, step_to

step = step_to("2.12", "2.13")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.12", "2.13")
functions = step.part("functions", "h200")
most = max(functions.causes, key=lambda cause: len(cause.pairs))

# claim: random-numbers-are-drawn-by-another-helper
assert functions.causes[0].form.issue == "pytorch#198333"
# claim: most-are-a-hint-for-the-cache
assert "cache" in most.form.name and not most.form.can_move_numbers

# claim: few-causes-are-unknown
assert all(10 * part.unnamed <= len(part.kernels) for part in step.parts.values())
# claim: no-model-plans-more
assert grown(step) == ["reductions/softmax_columns"]
# claim: whose-numbers-may-move
assert moving(step) == {"functions": (18, 106), "models": (12, 13)}
# claim: t5-plans-less
assert shrunk(step) == {"text/t5"}
# claim: fewer-breaks
assert breaks(step) == {"new": 0, "gone": 16}
old, new = kernels_of_models(step)
# claim: models-have-fewer-kernels
assert new < old
causes = [cause for part in step.parts.values() for cause in part.causes]
fusions = [each.form for each in causes if each.form.title == "another fusion or decomposition"]
# claim: some-fuse-other-operators
assert fusions and all(form.can_move_numbers for form in fusions)
# claim: recompiles-are-as-before
assert same_recompiles(step)
# claim: the-same-triton
assert [triton for triton, _ in _step.needs(step)] == ["3.7.1", "3.7.1"]
settings = _step.show_settings(step)
# claim: three-settings-are-gone
assert settings["gone"] == {
    "dynamo.skip_fsdp_hooks", "inductor.always_complex_memory_overlap_TESTING_ONLY",
    "inductor.force_same_precision",
}  # fmt: skip
# claim: which-defaults-differ
assert settings["another default"] == {
    "inductor.aot_inductor.enable_frame_pointer",
    "inductor.aten_distributed_optimizations.enable_fusion_regions",
    "inductor.aten_distributed_optimizations.spmd_check", "inductor.autoheuristic_use.mixed_mm",
    "inductor.autoheuristic_use.pad_mm", "inductor.inter_node_bw", "inductor.intra_node_bw",
    "inductor.realize_acc_reads_threshold", "inductor.realize_opcount_threshold",
    "inductor.triton.mix_order_reduction_allow_multi_stages",
}  # fmt: skip
