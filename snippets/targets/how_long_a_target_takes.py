"""A target's capture beside the compile for the CPU that is here.

Each model of timm and transformers was compiled in two processes of its own, with empty caches: by
plain `torch.compile` for the CPU, and for an H200 that is not there, down to every kernel's
instructions. The file has the seconds.
"""
# tclab: reads=records/target_against_cpu.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records")
files = (folder / "target_against_cpu.json" for folder in places)
path = next(file for file in files if file.exists())
record = json.loads(path.read_text(encoding="utf-8"))
rows = [(m["model"], m["cpu"], m["target"], m["target"] / m["cpu"]) for m in record["models"]]

# claim: a-handful-of-models
assert len(rows) >= 5
# claim: at-most-three-times
assert max(ratio for *_, ratio in rows) <= 3

machine = record["machine"]
tclab.show(
    tclab.Table(
        title="Seconds for this CPU, and for a GPU that is not there",
        name="seconds",
        columns=("model", "CPU", "target", "target / CPU"),
        rows=rows,
        units=("", "s", "s", ""),
        formats=("", ".1f", ".1f", ".2f"),
        caption=f"PyTorch {machine['torch']}, Triton {machine['triton']}, {machine['cpu']}, "
        f"{machine['cores']} cores shared with other work, {machine['date']}",
    )
)
