"""Make files such as readers have, and two reports that the tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401  # its log keeps the stderr of its import, which must not be a test's

from tclab.explain import ExplainRequest, Report, explain_named
from tclab.explain.trials.runner import TrialRunner
from tests.chromium import launched, tabs_without_errors

BROKEN = """\
import torch

LIMIT = 4.0


def scaled(x):
    return x * LIMIT


def f(x, n):
    y = scaled(x) + n
    print("seen </script> \\u00e9")
    return y.relu()


def example_inputs():
    return [(torch.ones(8), 3), (torch.ones(8), 5)]
"""

SKIPPED = """\
import torch
from torch import nn


def count(x):
    for _ in range(2):
        x = x + 1
        print("in a loop")
    return x


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(4, width)

    def forward(self, x, scale=2):
        y = self.linear(x)
        return count(y) * scale


def example_inputs():
    return (torch.ones(2, 4),)
"""

Write = Callable[[str, str], Path]


@pytest.fixture(scope="session", autouse=True)
def trial_process() -> Iterator[pytest.MonkeyPatch]:
    """Fork the trials of all reports from one process: each new one imports PyTorch's compiler,
    which takes longer than most trials.
    """
    start, kept = TrialRunner._wait_until_started, TrialRunner(None)

    def started(runner: TrialRunner) -> Any:
        runner.process = kept.process
        kept.process = start(runner)
        return kept.process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrialRunner, "_wait_until_started", started)
        patch.setattr(TrialRunner, "end", lambda _: None)
        yield patch
    kept.end()


@pytest.fixture
def own_trial_process(trial_process: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each report start, and end, the process of its trials, as it does for a reader."""
    shared = TrialRunner._wait_until_started, TrialRunner.end
    trial_process.undo()
    yield
    trial_process.setattr(TrialRunner, "_wait_until_started", shared[0])
    trial_process.setattr(TrialRunner, "end", shared[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Write:
    """Write a file of the working folder."""

    def written(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a working folder with both files."""
    path = tmp_path_factory.mktemp("reader")
    (path / "broken.py").write_text(BROKEN, encoding="utf-8")
    (path / "skipped.py").write_text(SKIPPED, encoding="utf-8")
    return path


def _explained(folder: Path, spec: str, *, backward: bool = False) -> Report:
    before = os.getcwd()
    os.chdir(folder)
    try:
        return explain_named(ExplainRequest.parse(spec, backward=backward))
    finally:
        os.chdir(before)


@pytest.fixture(scope="session")
def broken(files: Path) -> Report:
    """Explain a function with a break, called so that it is compiled again."""
    return _explained(files, "broken.py:f")


@pytest.fixture(scope="session")
def skipped(files: Path) -> Report:
    """Explain a module of which one function is skipped, with its backward."""
    return _explained(files, "skipped.py:Net", backward=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a function that opens a tab of some width; no tab may have had an error at the end."""
    with tabs_without_errors(browser) as open_tab:
        yield open_tab
