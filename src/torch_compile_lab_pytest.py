"""The pytest plugin: compare compiles with their baselines. pytest imports this module for suites
that do not use it, too: so it imports no torch, and tclab only when a test needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tclab.fixture.compiled import Factory

_MARKER_HELP = (
    "compiled(max_breaks=None, max_recompiles=None, within=''): at most so many graph breaks and "
    "recompiles in whatever the test compiles, of code in the package `within`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; only --compiled-update and --compiled-report write files."""
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
    """Register the marker, and the summary at the end, which only xdist's main process prints."""
    config.addinivalue_line("markers", _MARKER_HELP)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_PytestRun(config), "torch_compile_lab_run")


@pytest.fixture
def compiled(request: pytest.FixtureRequest) -> Factory:
    """Compile a function or a module for the test, and hold it to what it was.

    compiled(model, x, y).matches()                      one call, compared with its file
    compiled(model, [(x,), (z,)]).expect(recompiles=0)   several calls: a list of tuples
    compiled(functools.partial(model, mask=m), x)        keywords
    compiled(model, x, backward=True)                    its gradients, too
    compiled(model, x, target="h200", assume={"pad": "no"})   for a GPU that need not be here
    """
    from tclab.fixture.compiled import Factory, Settings

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
    """Capture the compiles of a marked test, and fail it if they exceed the marker's limits."""
    marker = item.get_closest_marker("compiled")
    if marker is None:
        return (yield)
    from tclab.fixture.limits import Limits

    limits = Limits.parse_marker(marker.args, marker.kwargs)
    if limits is None:
        return (yield)
    from tclab.compare.summary import summarize_capture
    from tclab.errors import NothingCompiled
    from tclab.fixture.compiling import watch_compiles
    from tclab.model.snapshots import NOTHING

    try:
        with watch_compiles() as capture:
            result = yield
    except NothingCompiled as problem:
        pytest.fail(str(problem), pytrace=False)
    summary = summarize_capture(capture, limits.within)
    if excess := limits.list_violations(summary):
        pytest.fail(excess, pytrace=False)
    # A marker of a class or module also stands over tests that compile nothing.
    if marker in item.own_markers and summary.is_empty:
        step = "call compiled code in the test, or take the marker off"
        pytest.fail(f"{NOTHING}: no limit can be exceeded\n  next: {step}", pytrace=False)
    return result


class _PytestRun:
    """Collects the baseline files that one pytest run used, and its failures."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.used: set[str] = set()
        self.failures: list[tuple[str, str]] = []
        self.unused: list[Path] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == "compiled_file":
                    self.used.add(_strip_version(Path(str(value))))
                elif name == "compiled_failure":
                    self.failures.append((report.nodeid, str(value)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.config.getoption("--compiled-unused"):
            self.unused = [p for p in self._baseline_files() if _strip_version(p) not in self.used]
            if self.unused and not exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _baseline_files(self) -> Iterator[Path]:
        """Yield every baseline file in the folders that pytest was called with."""
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
                file.write(_markdown_table(self.failures))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for test, text in self.failures:
                title = _escape(test).replace(":", "%3A").replace(",", "%2C")
                terminalreporter.write_line(f"::error title={title}::{_escape(text)}")


def _strip_version(path: Path) -> str:
    return str(path.resolve()).rpartition(".torch")[0]


def _escape(text: str) -> str:
    """Return text as the message of a workflow command of GitHub, which is one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _markdown_table(failures: list[tuple[str, str]]) -> str:
    """Return a Markdown table of the failures: the test, and the first two lines of its text."""
    rows = []
    for test, text in failures:
        lines = [*text.splitlines(), ""]
        cells = map(_markdown_code, (test, *lines[:2]))
        rows.append(f"| {' | '.join(cells)} |")
    head = ["| test | what | first |", "| --- | --- | --- |"]
    return "\n".join(["", *head, *rows, ""])


def _markdown_code(text: str) -> str:
    """Return text as code for a cell of a table, where no part of it is Markdown or HTML."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    escaped = " ".join(text.replace("|", "\\|").split())
    return f"{ticks} {escaped} {ticks}" if len(ticks) > 1 else f"`{escaped}`" if escaped else ""
