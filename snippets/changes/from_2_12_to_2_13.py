"""What PyTorch 2.12 and 2.13 made of the same code, compared.

Each has recorded what it made of the catalogue's functions and models, for GPUs that were not
there.
"""
# tclab: reads=records/versions/torch2.12.json,records/versions/torch2.13.json

from _step import grown, step_to

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
