"""Plant secrets in a machine, each a different token, so that a test can find out which leaked.

Some places are meant to be shown: a snippet's or function's own code with its constants, what it
prints and shows, and the text of an error that it raises itself. Nothing is planted there.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

TOKEN = "hunter2{}pw"

#: Variables that PyTorch, Triton, their libraries and other tools read, and their values.
VARIABLES = {
    "PYTORCH_CI_TOKEN": "{}",
    "TORCHINDUCTOR_REDIS_URL": "redis://reader:{}@cache.example:6379/0",
    "TORCHINDUCTOR_OF_TOMORROW": "{}",
    "TORCH_COMPILE_STICKY_PGO_KEY": "{}",
    "TORCH_LOGS_FORMAT": "{}: %(message)s",
    "TRITON_REDIS_KEY_FORMAT": "{}-{{key}}",
    "INDUCTOR_LOG_URL_FOR_GRAPH_XFORM": "https://reader:{}@logs.example",
    "AOT_INDUCTOR_REMOTE": "{}",
    "ATEN_REMOTE": "{}",
    "OMP_REMOTE": "{}",
    "MKL_REMOTE": "{}",
    "KMP_REMOTE": "{}",
    "HF_TOKEN": "{}",
    "AWS_SECRET_ACCESS_KEY": "{}",
    "PIP_INDEX_URL": "https://reader:{}@packages.example/simple",
    "HTTPS_PROXY": "http://reader:{}@proxy.example:3128",
    "USER": "{}",
    "LOGNAME": "{}",
}

#: Folders whose names are secrets, each named by a variable.
FOLDERS = ("HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_HOME")

#: Code that prints paths of this machine, but no secret itself.
INNOCENT = """
import os
import sys
import tempfile
import warnings

import tclab

for name in ("~/file", os.path.join(tempfile.gettempdir(), "file"), os.path.abspath("file")):
    try:
        open(os.path.expanduser(name) + ".gone")
    except OSError as error:
        print(error)
        warnings.warn(str(error))
tclab.show("\\n".join([__file__, tclab.__file__, os.path.expanduser("~")]), name="paths")
"""


def plant(folder: Path) -> dict[str, str]:
    """Return variables with a secret each; the folders that some of them name are below
    `folder`.
    """
    variables = {name: value.format(TOKEN.format(name)) for name, value in VARIABLES.items()}
    for name in FOLDERS:
        path = folder / TOKEN.format(name)
        path.mkdir(parents=True)
        variables[name] = str(path)
    return variables


def plant_in_git(root: Path) -> None:
    """Give a project's remote an address with a password, as `git clone` stores it."""
    git = root / ".git"
    git.mkdir()
    url = f"https://reader:{TOKEN.format('remote')}@git.example/lab"
    (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    (git / "HEAD").write_text("ref: refs/heads/main\n")


def found(folder: Path, *left_out: str) -> list[str]:
    """Return where secrets occur in the files below `folder`, or in the files' names: ``file: the
    text``.
    """
    return [
        f"{path.relative_to(folder)}: {line[:200]!r}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in left_out
        for line in [path.relative_to(folder).as_posix(), *_lines(path)]
        if found_in(line)
    ]


def found_in(text: str) -> bool:
    """Return whether a planted secret occurs in this text."""
    return TOKEN.partition("{}")[0] in text


def _lines(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    yield from data.decode("utf-8", "replace").split("\n")


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables of a process in which secrets are planted."""
    return {**os.environ, **variables}
