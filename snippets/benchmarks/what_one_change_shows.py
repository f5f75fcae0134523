"""Four functions below the roof, each with its input changed: read from the recording.

`share` is the time in which a copy of that run moves the fewest bytes, over the measured time; `by
it` is the share over that of the function as it is in the tables of this page.
"""
# tclab: reads=records/h200*/benchmarks/one_thing*/*.json

from _recorded import run_of

import tclab

changed, made = run_of("one_thing_changed", "01-changed.json")
told = {key: changed[key] for key in ("title", "name", "columns", "rows", "units", "formats")}
caption = f"{made['gpu']}, PyTorch {made['torch']}, {made['date']}. {changed['caption']}"
tclab.show(tclab.Table(caption=caption, **told))
share = {(kernel, way): percent for kernel, way, _, _, percent, _ in changed["rows"]}

# claim: what-divides-evenly-is-at-the-roof
assert share["full_norm", "divides evenly"] > 95 > 2 * share["full_norm", "as recorded"]
# claim: so-are-columns-of-more-rows
assert share["column_sum", "eight times the rows"] > 95 > share["column_sum", "as recorded"] + 10
# claim: so-is-rotary-with-short-tables
assert share["rotary", "tables of one line"] > 95 > share["rotary", "as recorded"] + 10
scattered = [share["scatter_add", way] for way in ("as recorded", "in order", "to few rows")]
# claim: adding-near-each-other-helps
assert scattered == sorted(scattered) and scattered[1] > 1.2 * scattered[0]
# claim: but-not-to-half-of-the-roof
assert scattered[-1] < 50
