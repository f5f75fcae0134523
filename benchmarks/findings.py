"""Check whether the first findings on functions with planted faults are the dearest.

``PYTHONPATH=src:. python -m benchmarks.findings [NAME…]`` explains each function of
`tests/findings/planted.py` in a process of its own, and prints a table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.findings.planted import PLANTED, Planted

FILE = Path(__file__).parents[1] / "tests" / "findings" / "planted.py"


def explain(planted: Planted, folder: Path) -> list[str]:
    """Return the kinds of a function's findings, in order; the error if there is no report."""
    file = folder / f"{planted.name}_.py"
    calls = f"[{planted.inputs} for _ in range({planted.calls})]"
    inputs = f"\n\ndef example_inputs():\n    return {calls}\n"
    file.write_text(FILE.read_text(encoding="utf-8") + inputs, encoding="utf-8")
    target = ["--target", planted.target] * bool(planted.target)
    command = [sys.executable, "-m", "tclab", "explain", f"{file}:{planted.name}", *target]
    done = subprocess.run(
        [*command, "--format", "brief"], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3):
        return [f"no report: {done.stderr[-300:]}"]
    return [each["kind"] for each in json.loads(done.stdout)["findings"]]


def is_right(planted: Planted, kinds: list[str]) -> bool:
    """Return whether the findings begin with the planted kinds, and none has another kind."""
    wanted = planted.kinds_here
    return kinds[: len(wanted)] == [*wanted] and not set(kinds) & set(planted.never)


def main(names: list[str]) -> int:
    """Print a row for each function; return how many are wrong."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for planted in PLANTED:
            if names and planted.name not in names:
                continue
            kinds = explain(planted, Path(folder))
            right = is_right(planted, kinds)
            wrong += not right
            verdict = "right" if right else f"WRONG, planted {', '.join(planted.kinds_here)}"
            print(f"{planted.name:28} {', '.join(kinds) or 'nothing':60} {verdict}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
