"""Make a small project in a temporary folder, whose snippets a test writes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import events, schedule, unfinished
from tclab.site.engine.plan import Plan
from tclab.site.store.local_runs import Store
from tclab.system import inductor_cache, toolchain

SRC = Path(__file__).resolve().parents[1] / "src"


def know_cpu(cache: Path) -> None:
    """Put what was compiled to try this CPU into a new cache of runs."""
    cache.mkdir(parents=True, exist_ok=True)
    unfinished.remove_unless_compiled_by(toolchain.compiler(), cache)
    inductor_cache.copy_cpu_trials(cache / "inductor")


class Lab:
    """A project, its store, and the events of the runner."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root / ".tclab")
        self.events: list[events.Event] = []
        (root / "snippets").mkdir(parents=True)
        (root / "mkdocs.yml").touch()

    def write(self, name: str, code: str, header: str = "") -> Snippet:
        """Write a snippet with this code, dedented."""
        path = self.root / "snippets" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        lines = ['"""Shows something."""', *([f"# tclab: {header}"] if header else [])]
        path.write_text("\n".join([*lines, textwrap.dedent(code)]), encoding="utf-8")
        return snippets.read(path, self.root)

    def plan(self, store: Store | None = None) -> Plan:
        """Return the present plan of the snippets."""
        return Plan(self.root, store or self.store)

    def run(self, *chosen: Snippet, store: Store | None = None, **options) -> dict[str, Run]:
        """Run the snippets in cold processes, which need no torch."""
        options = {"warm": False, "on_event": self.events.append} | options
        return schedule.run(chosen, self.plan(store), **options)

    def one(self, code: str, header: str = "", **options) -> Run:
        """Write one snippet and run it."""
        snippet = self.write("t/one", code, header)
        return self.run(snippet, **options)[snippet.name]

    def heard(self, kind: type[events.Event]) -> list[events.Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def python(self, code: str, **variables: str) -> subprocess.Popen[str]:
        """Start another Python process, with tclab, in this project."""
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(SRC), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
