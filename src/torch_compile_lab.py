"""Entry point of the command ``tclab``. Another package on PyPI is called `tclab`, so this module
has a different name: if that package has overwritten our files, the command can still say so.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_OUR_DOCSTRING = '"""tclab, the torch.compile lab'
_ADVICE = """tclab: {place} is not the torch.compile lab, but another package of that name
  next: install torch-compile-lab into an environment of its own; or, without the other package:
    pip uninstall tclab
    pip install --force-reinstall --no-deps torch-compile-lab"""


def main() -> int:
    """Run the command and return its exit status; 1 if the module `tclab` is another package's."""
    if other := _find_other_package():
        print(_ADVICE.format(place=other), file=sys.stderr)
        return 1
    from tclab.__main__ import main as command

    return command()


def _find_other_package() -> str:
    """Return the file of the module `tclab` if it is not ours, else ''; it is not imported."""
    spec = importlib.util.find_spec("tclab")
    if spec is None or spec.origin is None:
        return "the module tclab"
    first = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    return "" if first.startswith(_OUR_DOCSTRING) else spec.origin
