"""What a job costs by each door, and how far one scheduler carries.

On two cores, on loopback. The workers of the second table are simulated:
each sleeps as long as a run of this site took, divided by `faster`, and Dask's scheduler and
tclab's planner are the real ones. The bound is the longest job, or all jobs over the workers.
"""
# tclab: reads=records/doors.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records")
path = next(p / "doors.json" for p in places if (p / "doors.json").exists())
record = json.loads(path.read_text(encoding="utf-8"))
rows = record["rows"]
seconds = {row["door"]: row["seconds"] for row in rows if row["part"] == "overhead"}
(travels,) = (row for row in rows if row["part"] == "bytes")
simulated = [row for row in rows if row["part"] == "simulation"]

# claim: less-than-thirty-milliseconds-more
assert seconds["dask"] - seconds["pool"] < 0.030
# claim: the-tree-is-larger-than-a-job
assert travels["tree"] > 100 * travels["job"]

tclab.show(tclab.Table(
    title="A job that prints a line", name="overhead",
    columns=("door", "job", "more than the pool"),
    rows=[(door, 1000 * each, 1000 * (each - seconds["pool"])) for door, each in seconds.items()],
    units=("", "ms", "ms"), formats=("", ".0f", ".0f")))  # fmt: skip
tclab.show(tclab.Table(
    title="What travels", name="bytes",
    columns=("what", "how often", "size"),
    rows=[("the project's files", "once a worker", travels["tree"] / 1000),
          ("a job", "each", travels["job"] / 1000), ("its run", "each", travels["run"] / 1000)],
    units=("", "", "kB"), formats=("", "", ".1f")))  # fmt: skip
tclab.show(tclab.Table(
    title="Workers that sleep", name="simulated",
    columns=("jobs on workers", "faster", "bound", "took", "over the bound", "a second", "client"),
    rows=[(f"{row['jobs']} on {row['workers']}", row["scale"], row["bound"], row["seconds"],
           row["ratio"], row["rate"], 1000 * row["client"]) for row in simulated],
    units=("", "×", "s", "s", "×", "jobs", "ms a job"),
    formats=("", ".0f", ".1f", ".1f", ".2f", ".0f", ".1f")))  # fmt: skip
