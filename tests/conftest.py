"""Provide what all tests share: a lab, and the last line of a test run.

It says how many fences, snippets and tests ran, and how many did not.

A test that runs a snippet carries ``@pytest.mark.snippet``; an executable fence of a page is
a sybil item (or carries ``@pytest.mark.fence``). Reasons for skips are printed by ``-rs``.
"""

from __future__ import annotations

import gc
import signal
from collections import Counter
from pathlib import Path

import pytest

from tclab.site.engine import variables
from tclab.site.store.local_runs import Store
from tclab.system import inductor_cache

from .lab import Lab

TESTS = Path(__file__).parent

#: Variables that start a coverage measurement in a process.
COVERAGE = {"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"}

# A shell has what it starts in the background ignore Ctrl-C, and what that starts. Tests send one.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Spare all tests the trials of the CPU that snippets have made, before any worker starts."""
    if not hasattr(config, "workerinput"):
        cache = Store.of_project(TESTS.parent).cache
        inductor_cache.copy_cpu_trials(inductor_cache.folder(), cache / "inductor")


# A worker keeps what it has imported, which is most of its objects: to look through all of them for
# garbage again and again takes a fifteenth of its time.
gc.set_threshold(100_000, 50, 50)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the width and colours of the terminal that the tests run in."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Make a project of its own. What is run there is not shown, so coverage may watch it."""
    made = Lab(tmp_path / "project")
    monkeypatch.setenv("TCLAB_STORE", str(made.store.path))
    monkeypatch.setattr(variables, "SYSTEM", variables.SYSTEM | COVERAGE)
    return made


# --------------------------------------------------------------------------- the order

#: Files that take half a minute or more (`make test PYTEST_ARGS=--durations=0` tells). The first
#: one builds the site; the others that look at it come when it is there.
LONGEST = (
    "site/test_site.py",
    "engine/test_warm.py",
    "labs/test_answers.py",
    "explain/test_trials.py",
    "explain/test_watch.py",
    "site/test_explorer.py",
    "labs/test_notebooks.py",
    "engine/test_unfinished.py",
    "cli/test_faults.py",
    "bench/test_measured.py",
    "bench/test_command.py",
    "engine/test_faults.py",
    "engine/test_freshness.py",
    "explain/test_bad_input.py",
    "cli/test_commands.py",
    "cli/test_wheel.py",
    "explain/test_report.py",
    "explain/test_secrets.py",
    "explain/test_target.py",
    "explain/test_fixes_hold.py",
    "compare/test_guards.py",
    "fixture/test_order.py",
    "cli/test_check.py",
    "engine/test_surroundings.py",
    "engine/test_secrets.py",
    "verify/test_compare.py",
    "site/test_faults.py",
    "site/test_build.py",
    "site/test_serve.py",
    "site/test_found.py",
    "site/test_search.py",
    "site/test_reading.py",
    "site/test_first_glance.py",
    "site/test_version_tree.py",
    "site/viewer/test_linked.py",
    "site/viewer/test_marks.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first and those of few tests last: a worker takes a file at a time."""
    first = {TESTS / name: place for place, name in enumerate(LONGEST)}
    number = Counter(item.path for item in items)
    items.sort(key=lambda item: (first.get(item.path, len(first)), -number[item.path]))


# --------------------------------------------------------------------------- the last line

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark sybil's items, so that the mark travels with the report from an xdist worker."""
    if type(item).__name__ == "SybilItem":
        item.add_marker("fence")


def kind(report: pytest.TestReport) -> str:
    """Return the kind as which a report counts: a fence, a snippet or a plain test."""
    for name in ("fence", "snippet"):
        if name in report.keywords:
            return name
    return "test"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count each item once, by the kind of thing it proves."""
    ran: dict[str, set[str]] = {"fence": set(), "snippet": set(), "test": set()}
    skipped: set[str] = set()
    for outcome in OUTCOMES:
        for report in terminalreporter.stats.get(outcome, []):
            if not isinstance(report, pytest.TestReport):
                continue
            (skipped if outcome == "skipped" else ran[kind(report)]).add(report.nodeid)
    counts = ", ".join(plural(len(ids), name) for name, ids in ran.items())
    terminalreporter.write_line(f"Ran {counts}; {len(skipped)} skipped (reasons below).")
