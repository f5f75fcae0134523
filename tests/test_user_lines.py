"""Which files are the user's, by where they lie and by what artifacts call them."""

from __future__ import annotations

import contextlib
import os
import sysconfig
from pathlib import Path

import pytest
import torch

import tclab
from tclab.text import user_lines
from tclab.text.scrub import scrub

TCLAB = Path(tclab.__file__).parent
INSTALLED = Path(sysconfig.get_path("purelib"))

USERS = (
    "/home/someone/tclab/train.py",
    "/home/someone/tclab/capturing/result.py",
    "/home/someone/torch/train.py",
    str(INSTALLED / "mine" / "model.py"),
    str(INSTALLED / "torchvision" / "models.py"),
    str(INSTALLED / "mine" / "tclab" / "model.py"),
    str(TCLAB / "workshop" / "catalog" / "functions" / "pointwise.py"),
    os.path.abspath(__file__),
    "<stdin>",
    "<ipython-input-3-0a1b>",
)
OTHERS = (
    torch.nn.modules.linear.__file__,
    str(Path(torch.__file__).with_name("no_such_file.py")),
    contextlib.__file__,
    str(TCLAB / "capturing" / "result.py"),
    str(TCLAB / "workshop" / "verify" / "compare.py"),
    "<frozen importlib._bootstrap>",
)


@pytest.mark.parametrize("file", USERS)
def test_the_user_s(file: str) -> None:
    assert user_lines.is_user_file(file)


@pytest.mark.parametrize("file", OTHERS)
def test_not_the_user_s(file: str) -> None:
    assert not user_lines.is_user_file(file)


@pytest.mark.parametrize("file", [f for f in (*USERS, *OTHERS) if "/torch/train" not in f])
def test_what_an_artifact_calls_a_file_is_judged_alike(file: str) -> None:
    """But for what cannot be told any more: a folder called torch among the installed packages."""
    assert user_lines.is_user_file(scrub(file)) == user_lines.is_user_file(file)


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("tclab/train.py", True),  # in the project's own folder; tclab has no such file
        ("tclab/capturing/result.py", False),
        ("tclab/workshop/catalog/functions/pointwise.py", True),
        ("torch/_dynamo/polyfills/builtins.py", False),  # of whatever version
        ("triton/language/core.py", False),
        ("python3.14/functools.py", False),
        ("snippets/start/relu.py", True),
        ("torchvision/models.py", True),
    ],
)
def test_names_of_artifacts(file: str, users: bool) -> None:
    assert user_lines.is_user_file(file) == users


def test_all_lines_stand_where_none_is_the_user_s() -> None:
    lines = [(OTHERS[0], 1), (USERS[0], 2), (OTHERS[2], 3)]
    assert user_lines.select_user_lines_or_all(lines, lambda line: line[0]) == [(USERS[0], 2)]
    assert user_lines.select_user_lines_or_all(lines[::2], lambda line: line[0]) == lines[::2]
    assert user_lines.select_user_lines(lines[::2], lambda line: line[0]) == []


def test_a_stack_begins_where_tclab_calls_the_user() -> None:
    """Above it stand tclab and the library of its command line, which is installed as the user's
    packages are.
    """
    click = ("/venv/lib/python3.11/site-packages/click/core.py", 1)
    stack = [click, ("tclab/cli/command.py", 2), click, ("tclab/capturing/result.py", 3)]
    users = [(USERS[0], 4), ("/venv/lib/python3.11/site-packages/gpytorch/mlls.py", 5)]
    assert user_lines.drop_callers([*stack, *users], lambda line: line[0]) == users
    assert user_lines.drop_callers(users, lambda line: line[0]) == users
