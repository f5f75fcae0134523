"""Keep the output code of graphs that were compiled again, in the user's cache folder, so that the
same graph in the same environment is compiled once.

A file's name is the digest of the environment and of the question. A file is written whole or not
at all, so several processes can keep results at once; a file that is not what was written is left
out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclab.jobs.child import make_folders
from tclab.model import UNREADABLE
from tclab.system import files, paths

#: The most bytes that the folder keeps; the files that were used last stay.
MOST_BYTES = 256 << 20
_START_SECONDS = 60
#: The parts of tclab on which the code of a graph depends.
_PARTS = ("capturing", "targets", "text", "system", "model")
_PACKAGE = Path(__file__).resolve().parents[2]
_DAMAGED = (OSError, EOFError, zlib.error, *UNREADABLE)
#: Describes the PyTorch that compiles and this machine, without importing PyTorch.
_DESCRIBE = """
import platform
from tclab.system import machine, toolchain
print(sorted(machine.torch_facts().items()), machine.triton_version(), platform.python_version(),
      machine.describe_cpu(), toolchain.compiler())
"""


@dataclass(frozen=True)
class KeptResults:
    """The results in `folder` that were made in one `environment`. If the environment is '', no
    result is found, and none is kept.
    """

    folder: Path
    environment: str

    @classmethod
    def of(cls, python: str) -> KeptResults:
        """Return the results of the PyTorch of `python`."""
        return cls(paths.user_cache_folder() / "tclab" / "replays", _describe(python))

    def find(self, question: str) -> Mapping[str, Any] | None:
        """Return the answer to a question, or None if it is not kept."""
        file = self._file(question)
        try:
            digest, _, text = gzip.decompress(file.read_bytes()).partition(b"\n")
            if digest.decode() != hashlib.sha256(text).hexdigest():
                return None
            answer = json.loads(text)
            os.utime(file)  # it was used last
        except _DAMAGED:
            return None
        return answer if isinstance(answer, dict) and answer.get("code") else None

    def keep(self, question: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer that has code. A refusal is quick, and a limit of time or memory may hold
        no more the next time.
        """
        if not self.environment or not answer.get("code"):
            return
        text = json.dumps(answer).encode()
        head = hashlib.sha256(text).hexdigest().encode()
        file = self._file(question)
        with suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace_bytes(file, gzip.compress(head + b"\n" + text, mtime=0))

    def limit(self, most_bytes: int = MOST_BYTES) -> None:
        """Remove the files that were not used for the longest time, until `most_bytes` are left."""
        with suppress(OSError):
            used = sorted(_list_files(self.folder), reverse=True)
            for _, size, path in used:
                most_bytes -= size
                if most_bytes < 0:
                    Path(path).unlink(missing_ok=True)

    def _file(self, question: str) -> Path:
        key = hashlib.sha256(f"{self.environment}\n{question}".encode()).hexdigest()
        return self.folder / f"{key}.json.gz"


def _list_files(folder: Path) -> list[tuple[int, int, str]]:
    """Return the time of use, the size and the path of each file."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process has removed it
                status = entry.stat()
                found.append((status.st_mtime_ns, status.st_size, entry.path))
    return found


def _describe(python: str) -> str:
    """Return all that the code of a graph depends on beside the question; '' if `python` does not
    say it.
    """
    with tempfile.TemporaryDirectory(prefix="tclab-") as folder:
        work, variables = make_folders(folder)
        try:
            described = subprocess.run(
                [python, "-c", _DESCRIBE], cwd=work, env={**os.environ, **variables},
                capture_output=True, text=True, timeout=_START_SECONDS, check=True,
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return ""
    return f"{_digest_code()}\n{described}" if described.strip() else ""


def _digest_code() -> str:
    digest = hashlib.sha256()
    for part in _PARTS:
        for file in sorted((_PACKAGE / part).rglob("*.py")):
            digest.update(f"{file.relative_to(_PACKAGE)}\n".encode() + file.read_bytes())
    return digest.hexdigest()
