"""The pytest plugin: compiles held to what they were. A module of its own, since a suite that does
not use it pays for its import: it imports no torch, and tclab when a test asks.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tclab.baseline.compiled import Factory

_MARKER = (
    "compiled(max_breaks=None, max_recompiles=None, within=''): at most so many graph breaks and "
    "recompiles in whatever the test compiles, of code in the package `within`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flags; nothing is written without --compiled-update or --compiled-report."""
    group = parser.getgroup("compiled", "what torch.compile makes of your code")
    group.addoption("--compiled-update", action="store_true",
                    help="write the files that compiled(...).matches() compares with")  # fmt: skip
    group.addoption("--compiled-strict", action="store_true",
                    help="fail what is better than its file, too")  # fmt: skip
    group.addoption("--compiled-new-torch", choices=("report", "fail"), default="report",
                    help="what differs from an older PyTorch's file; default: report")  # fmt: skip
    group.addoption("--compiled-unused", action="store_true",
                    help="list files that no test of this run used, and fail")  # fmt: skip
    group.addoption("--compiled-report", metavar="DIR", type=Path,
                    help="write a page of each compile that is worse into this folder")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """The marker; and what the run says at its end, which under xdist one process does."""
    config.addinivalue_line("markers", _MARKER)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Run(config), "torch_compile_lab_run")


@pytest.fixture
def compiled(request: pytest.FixtureRequest) -> Factory:
    """``compiled(model, x, target="h200")``: compile it, and hold it to what it was."""
    from tclab.baseline.compiled import Factory, Settings

    option, node = request.config.getoption, request.node
    settings = Settings(
        update=option("--compiled-update"),
        strict=option("--compiled-strict"),
        new_torch_fails=option("--compiled-new-torch") == "fail",
        report=option("--compiled-report"),
    )
    test = ".".join([node.path.stem, *node.nodeid.split("::")[1:]])

    def note(name: str, text: str) -> None:
        node.user_properties.append((name, text))

    return Factory(node.path.parent / "compiled", test, settings, note)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch what a marked test compiles, and hold it to the marker's limits."""
    marker = item.get_closest_marker("compiled")
    if marker is None:
        return (yield)
    from tclab.baseline import observed
    from tclab.baseline.limits import Limits

    limits = Limits(*marker.args, **marker.kwargs)
    with observed.watched() as capture:
        result = yield
    if said := limits.passed(observed.observed(capture, limits.within)):
        pytest.fail(said, pytrace=False)
    return result


class _Run:
    """Of one run of pytest: the files that its tests used, and the failures."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.used: set[str] = set()
        self.failures: list[tuple[str, str]] = []
        self.unused: list[Path] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == "compiled_file":
                    self.used.add(_without_version(Path(str(value))))
                elif name == "compiled_failure":
                    self.failures.append((report.nodeid, str(value)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.config.getoption("--compiled-unused"):
            self.unused = [p for p in self._files() if _without_version(p) not in self.used]
            if self.unused and not exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _files(self) -> Iterator[Path]:
        """Every file of a compile in the folders that were asked for."""
        root = self.config.invocation_params.dir
        for word in dict.fromkeys(self.config.args):
            path = root / word.partition("::")[0]
            folder = path if path.is_dir() else path.parent
            yield from sorted(folder.rglob("compiled/*.torch*.json"))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unused:
            terminalreporter.section("files of compiles that no test used")
            for path in self.unused:
                terminalreporter.write_line(os.path.relpath(path))
        if self.failures and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
            with open(summary, "a", encoding="utf-8") as file:
                file.write(_markdown(self.failures))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for test, text in self.failures:
                said = text.replace("%", "%25").replace("\n", "%0A")
                terminalreporter.write_line(f"::error title={test}::{said}")


def _without_version(path: Path) -> str:
    return str(path.resolve()).rpartition(".torch")[0]


def _markdown(failures: list[tuple[str, str]]) -> str:
    """A table of what got worse: the test, and the first thing that is said of it."""
    rows = []
    for test, text in failures:
        lines = [*text.splitlines(), ""]
        rows.append(f"| `{test}` | {lines[0]} | {lines[1]} |".replace("\n", " "))
    head = ["| test | what | first |", "| --- | --- | --- |"]
    return "\n".join(["", *head, *rows, ""])
