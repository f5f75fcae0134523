"""The two recordings of single functions, read once more: what each verdict stands for.

A row of the first is a function, a row of the second a kernel as the GPU launched it.
"""
# tclab: reads=records/h200*/targets/c*_report/03*.json,records/h200*/targets/the_same*/01*.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
recorded = here.parents[1] / "records" / "h200-torch2.11" / "targets"
places = (here, recorded / "corpus_report", recorded / "the_same_instructions")


def rows_of(name):
    """The rows of a recorded table, as dicts by its columns."""
    path = next(place / name for place in places if (place / name).exists())
    table = json.loads(path.read_text(encoding="utf-8"))
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


functions = rows_of("03-functions.json")
identical = [row for row in functions if row["verdict"] == "identical"]
without = [row for row in functions if row["verdict"] == "no kernels"]
STAGES = ("ttir", "ttgir", "llir", "ptx", "sass")
launched = rows_of("01-stages.json")
another = [row for row in launched if "–" in (row[stage] for stage in STAGES)]
shown = [row for row in launched if row not in another]
rows = [
    ("functions that are identical", len(identical)),
    ("functions without a kernel", len(without)),
    ("kernels launched in the configuration shown", len(shown)),
    ("kernels launched in another", len(another)),
]
tclab.show(tclab.Table("What was compared", "compared", ("", "number"), rows))

# claim: identical-is-said-of-kernels-that-are-there
assert all(row["kernels"] == row["identical"] > 0 for row in identical)
# claim: no-kernels-means-none
assert without and all(row["kernels"] == 0 for row in without)
# claim: the-same-configuration-is-the-same-in-each-stage
assert all(row[stage] == "same" for row in shown for stage in STAGES)
# claim: most-were-launched-as-shown
assert len(shown) > 2 * len(another)
# claim: another-was-one-of-several
assert another and all("candidates" in row["configuration launched"] for row in another)
