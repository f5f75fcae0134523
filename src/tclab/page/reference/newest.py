"""Whether there is a PyTorch newer than those that the reference lists: a release, a candidate or a
nightly. Prints ``torch=…`` and ``index=…`` for the newest, or nothing.

    python -m tclab.page.reference.newest
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

from tclab.model import Version
from tclab.page.reference import versions
from tclab.project import project_root

#: Where PyTorch's builds for a CPU lie; of two with the same version the first is taken.
INDEXES = tuple(f"https://download.pytorch.org/whl/{part}cpu" for part in ("", "test/", "nightly/"))


def newer(found: Mapping[str, str], known: str) -> tuple[str, str]:
    """Of what each index lists the newest version after the release `known`, and its index; ('',
    '') for none. A release comes before a candidate of it, and that before a nightly.
    """
    for index, listed in found.items():
        later = [v for v in of_pip(listed) if Version.of(v).release > Version.of(known).release]
        if later:
            return later[0], index
    return "", ""


def of_pip(listed: str) -> list[str]:
    """The versions in what ``pip index versions`` printed, the newest first."""
    # Available versions: 2.13.0+cpu, 2.12.1+cpu, 2.12.0+cpu
    line = re.search(r"^Available versions: (.+)$", listed, re.MULTILINE)
    return [one.strip().partition("+")[0] for one in line[1].split(",")] if line else []


def ask(index: str) -> str:
    """What pip prints of PyTorch's versions there; '' where it finds none."""
    words = ["index", "versions", "torch", "--pre", "--index-url", index]
    done = subprocess.run([sys.executable, "-m", "pip", *words], text=True, check=False,
                          stdout=subprocess.PIPE, timeout=300)  # fmt: skip
    return done.stdout


def main() -> int:
    """Ask every index; the status is 0 whether there is a newer one or not."""
    known = list(versions.read(project_root() / "docs" / versions.FOLDER))[-1]
    version, index = newer({index: ask(index) for index in INDEXES}, known)
    if version:
        print(f"torch={version}\nindex={index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
