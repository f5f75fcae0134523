"""What PyTorch 2.12 and 2.13 made of the same code, compared.

Each has recorded what became of the snippets' claims and of the catalogue's functions and models,
for GPUs that were not there.
"""
# tclab: reads=records/versions/torch2.12.json,records/versions/torch2.13.json

from _step import step_to

step = step_to("2.12", "2.13")

# claim: each-side-is-of-its-version
assert (step.before.release, step.after.release) == ("2.12", "2.13")
functions = step.part("functions", "h200")
most = max(functions.causes, key=lambda cause: len(cause.pairs))

# claim: random-numbers-are-drawn-by-another-helper
assert functions.causes[0].form.issue == "pytorch#198333"
# claim: most-are-a-hint-for-the-cache
assert "cache" in most.form.name and not most.form.can_move_numbers
