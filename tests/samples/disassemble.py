"""Write how the Python that runs this prints bytecode: tests/samples/python-<version>.dis.

    python -m tests.samples.disassemble

Needs no PyTorch: what PyTorch says of bytecode is printed by Python.
"""

from __future__ import annotations

import dis
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent


def looked_at(values):
    total = 0
    try:
        for value in values:
            total += value
    except TypeError:
        return None
    return total


def main() -> None:
    """Write the file of this Python."""
    version = ".".join(map(str, sys.version_info[:2]))
    text = dis.Bytecode(looked_at).dis()
    (SAMPLES / f"python-{version}.dis").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
