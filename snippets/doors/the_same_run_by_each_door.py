"""One snippet by three doors: the pool of this machine, a Dask worker, a bundle.

A small project of its own, with one snippet. Each door runs it anew, and the run that comes back is
compared field by field with that of the pool.
"""
# tclab: timeout=200

import dataclasses
import tempfile
from pathlib import Path

import tclab
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.remote import bundle, client, protocol
from tclab.site.store.local_runs import Store

STAMP = {"seconds", "peak_memory", "provenance", "environment"}


def main() -> tuple[dict, dict]:
    root = Path(tempfile.mkdtemp()) / "project"
    (root / "snippets/t").mkdir(parents=True)
    (root / "mkdocs.yml").touch()
    (root / "snippets/t/one.py").write_text(
        '"""Show a text."""\nimport tclab\ntclab.show("text", name="text")\nprint("printed")\n'
    )
    plan, (one,) = Plan(root, Store(root / ".tclab")), snippets.find(root)
    runs = {"pool": schedule.run([one], plan, warm=False)[one.name]}
    runs["Dask"] = client.run([one], plan, client.ClusterAddress("local:1"), force=True).runs[
        one.name
    ]
    bundle.write_jobs(root / "jobs.tar", plan, [one], "box")
    runs["bundle"] = bundle.run_jobs(root / "jobs.tar", root / "runs.tar").runs[one.name]

    fields = [field.name for field in dataclasses.fields(runs["pool"])]
    differ = {door: {name for name in fields
                     if getattr(run, name) != getattr(runs["pool"], name)}
              for door, run in runs.items()}  # fmt: skip
    tclab.show(tclab.Table(
        title="One run, by three doors", name="doors",
        columns=("door", "result", "kB that came back", "fields that differ"),
        rows=[(door, "ok" if run.ok else run.failure.cause,
               len(protocol.pack_run(run)) / 1000, len(differ[door] - STAMP))
              for door, run in runs.items()],
        formats=("", "", ".1f", "d")))  # fmt: skip
    return runs, differ


# the processes that this starts import it, and start nothing
if __name__ == "__main__":
    runs, differ = main()
    # claim: all-three-ran
    assert all(run.ok for run in runs.values()) and list(runs) == ["pool", "Dask", "bundle"]
    # claim: only-the-stamp-differs
    assert all(names <= STAMP for names in differ.values())
