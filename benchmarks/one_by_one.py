"""Time each snippet of a project, isolated or together; prints one line of JSON."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import time
from pathlib import Path

from tclab.model import Snippet
from tclab.site import snippets
from tclab.site.engine import events, schedule
from tclab.site.engine.plan import Plan
from tclab.site.store.local_runs import Store


def isolated(chosen: list[Snippet], root: Path) -> float:
    """Return the seconds from the end of the warm-up to the end, with one snippet at a time."""
    begin = 0.0

    def note(event: events.Event) -> None:
        nonlocal begin
        if isinstance(event, events.WarmedUp):
            begin = time.perf_counter()

    runs = schedule.run(chosen, Plan(root, Store(root / "store")), jobs=1, on_event=note)
    end = time.perf_counter()
    failed = [name for name, run in runs.items() if not run.ok]
    if failed or not begin or len(runs) != len(chosen):
        raise SystemExit(f"cannot be timed: warm at {begin}, {len(runs)} runs, failed: {failed}")
    return end - begin


def together(chosen: list[Snippet]) -> float:
    """Return the seconds of all files in this process, after the same kind of warm-up."""
    import torch

    x = torch.randn(4, 4, requires_grad=True)
    torch.compile(lambda x: (x * 2).sin())(x).sum().backward()
    begin = time.perf_counter()
    for snippet in chosen:
        torch._dynamo.reset()
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(snippet.path), run_name="__main__")
    return time.perf_counter() - begin


if __name__ == "__main__":
    how, folder = sys.argv[1], Path(sys.argv[2])
    all_of_them = snippets.find(folder)
    seconds = isolated(all_of_them, folder) if how == "isolated" else together(all_of_them)
    print(json.dumps({"seconds": round(seconds / len(all_of_them), 4), "of": len(all_of_them)}))
