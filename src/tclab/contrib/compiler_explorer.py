"""Compile a file's last function with torch.compile, for Compiler Explorer: the instructions of its
kernels, marked with the lines of Python they came from.

Compiler Explorer calls a wrapper of a Python compiler as

    python -I compiler_explorer.py --outputfile OUT --inputfile FILE.py [OPTION …]

The options are those of ``tclab explain``, above all ``--target h200``, and ``--function NAME`` for
a function or class that is not the last one. The file has ``example_inputs()``, or the options have
``--input``. Needs the package torch-compile-lab in the same Python.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

#: The exit status of ``tclab explain`` for a report that lacks something, and says what.
_INCOMPLETE = 3


def last_function(source: str) -> str | None:
    """Return the name of the last function or class of a file; None without one."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in ast.parse(source).body if isinstance(node, kinds)]
    return next((name for name in reversed(names) if name != "example_inputs"), None)


def main() -> int:
    """Return the exit status: 0 if the output was written, also without some of its parts."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--inputfile", type=Path, required=True)
    parser.add_argument("--outputfile", type=Path, required=True)
    parser.add_argument("--function", help="the one to compile; default: the file's last")
    own, options = parser.parse_known_args()
    try:
        name = own.function or last_function(own.inputfile.read_text(encoding="utf-8"))
    except SyntaxError as error:
        sys.exit(f"{own.inputfile}:{error.lineno}: {error.msg}")
    if not name:
        sys.exit(f"{own.inputfile}: it has no function or class to compile")
    spec = f"{own.inputfile.resolve()}:{name}"
    command = [sys.executable, "-m", "tclab", "explain", spec, "--format", "asm"]
    # from its folder, so that the output names the file as the editor does
    ended = subprocess.run(
        [*command, "--output", str(own.outputfile.resolve()), *options],
        cwd=own.inputfile.resolve().parent,
        check=False,
    )
    return 0 if ended.returncode == _INCOMPLETE else ended.returncode


if __name__ == "__main__":
    sys.exit(main())
