"""Compare a build with nothing to run to a build of the same pages with the outputs pasted in.

The pasted pages are what a build of the site made of them: references resolved, every
executable fence replaced by its HTML. They are built with the same theme and extensions,
without markdown-exec and without tclab's hooks.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.measure import measure
from benchmarks.projects import fresh, write
from benchmarks.results import HERE, ROOT, WORK, Figure, Parts

FOLDER = WORK / "nothing-stale"
PROJECT = FOLDER / "project"  # a copy of the site's: MkDocs finds it by its configuration
REPEATS = 5
MAX_MIB = 300
HOOK = str(PROJECT / "src/tclab/site/pages/mkdocs_hook.py")


def figures(parts: Parts) -> Iterable[Figure]:
    """Return the ratio, and the memory of MkDocs with everything and with nothing stale."""
    first = parts.get("nothing-stale/first-build", first_build)
    times = parts.get("nothing-stale/repeated", repeated)
    ours, pasted = (statistics.median(times[name]) for name in ("ours", "pasted"))
    yield Figure(
        name="c nothing stale",
        what="nothing stale: `mkdocs build` ÷ the same pages with outputs pasted in",
        value=ours / pasted,
        limit="<=1.2",
        unit="×",
        note=f"medians of {REPEATS}: {ours:.2f} s against {pasted:.2f} s",
    )
    yield Figure(
        name="d memory",
        what="peak memory of the MkDocs process, everything stale",
        value=first["peak"],
        limit=f"<={MAX_MIB}",
        unit=" MiB",
        note="nothing else in it",
    )
    yield Figure(
        name="d torch",
        what="times that the MkDocs process imported torch",
        value=int(first["torch"]) + sum(times["torch"]),
        limit="<=0",
        note=f"{1 + REPEATS} builds",
    )


# ------------------------------------------------------------------------------ our build


def first_build() -> dict[str, Any]:
    """Build the site with an empty store, and record each page's output."""
    fresh(FOLDER)
    for name in ("docs", "snippets", "records", "src"):
        shutil.copytree(ROOT / name, PROJECT / name)
    shutil.copyfile(ROOT / "mkdocs.yml", PROJECT / "mkdocs.yml")
    config("first.yml", hooks=[HOOK, str(HERE / "record_pages.py")])
    return probe("first.yml")


def probe(name: str) -> dict[str, Any]:
    """Build with the configuration `name`; return seconds, MiB, and whether torch was imported."""
    report = FOLDER / "report.json"
    command: list[str | Path] = [sys.executable, HERE / "mkdocs_probe.py", report]
    command += ["build", "--config-file", PROJECT / name, "--site-dir", FOLDER / f"{name}-site"]
    done = measure(command, cwd=PROJECT, env=variables())
    figures: dict[str, Any] = json.loads(report.read_text())
    return figures | {"seconds": round(done.seconds, 3)}


def variables() -> dict[str, str]:
    path = f"{ROOT}:{PROJECT / 'src'}"
    store = str(FOLDER / "store")
    return {"PYTHONPATH": path, "TCLAB_ROOT": str(PROJECT), "TCLAB_STORE": store,
            "RECORD_PAGES": str(FOLDER / "pages")}  # fmt: skip


def config(name: str, *, hooks: list[str], more: str = "") -> None:
    """Return a configuration that inherits the site's."""
    lines = ["INHERIT: mkdocs.yml", f"hooks: {json.dumps(hooks)}", more]
    write(PROJECT / name, "\n".join(lines) + "\n")


# ------------------------------------------------------------------------------ pasted


def repeated() -> dict[str, list[Any]]:
    """Build both `REPEATS` times, in turn."""
    config("ours.yml", hooks=[HOOK])
    paste()
    pasted = f"docs_dir: {FOLDER / 'docs'}\nplugins: [search]\nstrict: false"
    config("pasted.yml", hooks=[], more=pasted)
    builds: dict[str, list[Any]] = {"ours": [], "pasted": [], "torch": []}
    for name in ("ours", "pasted"):
        probe(f"{name}.yml")  # once to fill the file system's cache
    for _ in range(REPEATS):
        ours = probe("ours.yml")
        builds["ours"].append(ours["seconds"])
        builds["torch"].append(ours["torch"])
        builds["pasted"].append(probe("pasted.yml")["seconds"])
    return builds


def paste() -> None:
    """Make the pasted project's docs/ from what `record_pages` kept, and the built files."""
    docs = FOLDER / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(PROJECT / "docs", docs)
    for page in (FOLDER / "pages").rglob("*.md"):
        write(docs / page.relative_to(FOLDER / "pages"), page.read_text(encoding="utf-8"))
    site = FOLDER / "first.yml-site"
    copies = [
        p for p in site.rglob("*") if p.suffix in (".py", ".ipynb") or "assets/tclab" in str(p)
    ]
    for path in filter(Path.is_file, copies):
        target = docs / path.relative_to(site)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
