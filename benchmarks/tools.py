"""Make the other tools' virtual environment: their packages, and this Python's torch."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from benchmarks.results import HERE, ROOT

VENV = ROOT / ".venv-bench"


def python() -> Path:
    """Return the interpreter of that environment, which the first call makes."""
    interpreter = VENV / "bin" / "python"
    done = VENV / ".installed"
    wanted = HERE / "requirements.txt"
    if not done.exists() or done.stat().st_mtime < wanted.stat().st_mtime:
        print(f"  installing the other tools into {VENV.name}/ …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        install = [interpreter, "-m", "pip", "install", "--quiet", "-r", wanted]
        subprocess.run(install, check=True)
        borrow(interpreter)
        done.touch()
    return interpreter


def borrow(interpreter: Path) -> None:
    """Let the environment see this one's packages after its own, since torch is gigabytes."""
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    there = subprocess.run([interpreter, "-c", query], capture_output=True, text=True, check=True)
    mine = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    lines = "\n".join(sorted(mine)) + os.linesep
    (Path(there.stdout.strip()) / "borrowed.pth").write_text(lines)
