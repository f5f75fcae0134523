"""Look for a PyTorch (release, candidate or nightly) newer than those that the reference lists.

Prints ``torch=…`` and ``index=…`` for the newest one, or nothing.

    python -m tclab.site.pages.reference.newer_torch
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

from tclab.model import Version
from tclab.site.versions import name_lists
from tclab.system.project import project_root

#: Package indexes of PyTorch's CPU builds, in order of preference.
INDEXES = tuple(f"https://download.pytorch.org/whl/{part}cpu" for part in ("", "test/", "nightly/"))


def find_newer(outputs: Mapping[str, str], known_release: str) -> tuple[str, str]:
    """Return (version, index) of the newest version after the release `known_release`; ('', '') if
    there is none.

    `outputs` maps each index to pip's output. The first index with a newer version is used, so a
    release is preferred to a candidate, and a candidate to a nightly.
    """
    for index, output in outputs.items():
        newer = [
            v
            for v in parse_pip_output(output)
            if Version.parse(v).release > Version.parse(known_release).release
        ]
        if newer:
            return newer[0], index
    return "", ""


def parse_pip_output(output: str) -> list[str]:
    """Return the versions in the output of ``pip index versions``, the newest first."""
    # Available versions: 2.13.0+cpu, 2.12.1+cpu, 2.12.0+cpu
    line = re.search(r"^Available versions: (.+)$", output, re.MULTILINE)
    return [version.strip().partition("+")[0] for version in line[1].split(",")] if line else []


def query_index(index: str) -> str:
    """Return pip's list of the PyTorch versions in the index; '' if it finds none."""
    arguments = ["index", "versions", "torch", "--pre", "--index-url", index]
    result = subprocess.run([sys.executable, "-m", "pip", *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, timeout=300)  # fmt: skip
    return result.stdout


def main() -> int:
    """Query every index and print the newest version; the exit status is always 0."""
    known = list(name_lists.read_lists(project_root() / "docs" / name_lists.FOLDER))[-1]
    version, index = find_newer({index: query_index(index) for index in INDEXES}, known)
    if version:
        print(f"torch={version}\nindex={index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
