"""Time a cold run: nothing compiled, nothing stored. Ours against the same code elsewhere.

Every tool gets two cores, an empty TORCHINDUCTOR_CACHE_DIR and no graph caches, and is timed
from its command's start to its end: ours with the rendering of the pages.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import projects, tools
from benchmarks.measure import CommandFailed, Measured, measure
from benchmarks.projects import TimedSnippet
from benchmarks.results import WORK, Figure, Parts
from tclab.site.engine.variables import GRAPH_CACHES_OFF, cache_folders

SETS: dict[str, Callable[[], list[TimedSnippet]]] = {
    "generated": projects.generated,
    "site": projects.of_the_site,
}
LIMITS = {"generated": ">=1.8", "site": ">=1.4"}
TOOLS = {
    "plain": "plain markdown-exec",
    "myst": "MyST-NB + jupyter-cache",
    "gallery": "sphinx-gallery, parallel=2",
}


def figures(parts: Parts) -> Iterable[Figure]:
    """Compare our build with each other tool, for both sets of snippets."""
    for name in SETS:
        examples, left_out = usable(name, parts)
        count = len(examples)
        own = parts.get(f"cold/{name}/ours", lambda n=name, e=examples: ours(n, e))
        note = f"{count} snippets" + (
            f", {left_out} left out that fail in a fence" * bool(left_out)
        )
        for tool, what in TOOLS.items():
            theirs = parts.get(
                f"cold/{name}/{tool}", lambda t=tool, n=name, e=examples: other(t, n, e)
            )
            yield Figure(
                name=f"a cold {name} {tool}",
                what=f"cold build of {set_name(name)}, {what} ÷ ours",
                value=theirs["seconds"] / own["seconds"],
                limit=LIMITS[name] if tool == "plain" else "",
                unit="×",
                note=f"{note}; {theirs['seconds']:.1f} s against {own['seconds']:.1f} s",
            )


def set_name(name: str) -> str:
    return "60 generated snippets" if name == "generated" else "the site's CPU snippets"


def usable(name: str, parts: Parts) -> tuple[list[TimedSnippet], int]:
    """Return the examples whose code works in a plain fence, and the number of the others."""
    examples = SETS[name]()
    if name == "generated":
        return examples, 0
    failing = parts.get("cold/site/failing-in-a-fence", lambda: failing_in_a_fence(examples))
    working = [e for e in examples if e.name not in failing]
    return working, len(examples) - len(working)


def failing_in_a_fence(examples: list[TimedSnippet]) -> list[str]:
    """Return the names of the examples that raise when markdown-exec runs them."""
    folder = projects.plain(WORK / "site" / "try", examples)
    done = build(folder)
    return sorted(failed_blocks(done.output))


def failed_blocks(output: str) -> set[str]:
    """Return the ids of the blocks that markdown-exec reports as failed."""
    return set(
        re.findall(r"Execution of python code block '?([^'\s]+)'? exited with errors", output)
    )


# ------------------------------------------------------------------------------ one tool


def cold_variables(folder: Path) -> dict[str, str]:
    """Return variables for empty caches that only this measurement uses."""
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    variables = {**GRAPH_CACHES_OFF, **cache_folders(cache)}
    return {
        **variables,
        "PYTHONPATH": projects.include_path(folder),
        "TCLAB_STORE": str(folder / "store"),
    }


def build(folder: Path) -> Measured:
    """Run `mkdocs build` with everything cold."""
    command = [sys.executable, "-m", "mkdocs", "build", "--no-strict"]
    return measure(command, cwd=folder, env=cold_variables(folder))


def ours(name: str, examples: list[TimedSnippet]) -> dict[str, Any]:
    """Return the seconds of our build: run two at a time, store, render."""
    folder = projects.ours(WORK / name / "ours", examples)
    env = cold_variables(folder) | {"TCLAB_ROOT": str(folder)}
    done = measure([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=folder, env=env)
    prove(name, folder / "store", len(examples), "stdout.txt")
    return {"seconds": round(done.seconds, 2), "snippets": len(examples)}


def other(tool: str, name: str, examples: list[TimedSnippet]) -> dict[str, Any]:
    """Return the seconds of another tool's build of the same code."""
    folder = WORK / name / tool
    done = {"plain": plain, "myst": myst, "gallery": gallery}[tool](folder, examples)
    prove(name, folder / ("site" if tool == "plain" else "html"), len(examples))
    return {"seconds": round(done.seconds, 2), "snippets": len(examples)}


def prove(name: str, folder: Path, count: int, pattern: str = "*.html") -> None:
    """Raise CommandFailed unless `count` outputs are there: a snippet that did not run takes no
    time.
    """
    if name != "generated":
        return  # the site's snippets print nothing in common; each tool's errors are checked
    wanted = re.compile(r"torch\.Size\(\[\d+(, \d+)?\]\)")
    outputs = [p for p in folder.rglob(pattern) if wanted.search(p.read_text(errors="replace"))]
    if len(outputs) < count:
        raise CommandFailed(f"{folder}: {len(outputs)} of {count} outputs are there")


def plain(folder: Path, examples: list[TimedSnippet]) -> Measured:
    done = build(projects.plain(folder, examples))
    if failed := failed_blocks(done.output):
        raise CommandFailed(f"blocks failed: {sorted(failed)}\n{done.output[-2000:]}")
    return done


def sphinx(folder: Path) -> Measured:
    command = [tools.python(), "-m", "sphinx", "-q", "-b", "html", "source", "html"]
    return measure(command, cwd=folder, env=cold_variables(folder))


def myst(folder: Path, examples: list[TimedSnippet]) -> Measured:
    tools.python()
    done = sphinx(projects.myst(folder, examples))
    if "Executing notebook failed" in done.output:
        raise CommandFailed(f"a notebook failed:\n{done.output[-3000:]}")
    return done


def gallery(folder: Path, examples: list[TimedSnippet]) -> Measured:
    tools.python()
    done = sphinx(projects.gallery(folder, examples))
    if "failed to execute" in done.output or "unexpectedly failed" in done.output:
        raise CommandFailed(f"an example failed:\n{done.output[-3000:]}")
    return done
