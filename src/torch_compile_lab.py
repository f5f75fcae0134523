"""What the command ``tclab`` starts. Another package on PyPI owns the name `tclab`, so this module
has one of its own: where that package's files lie over ours, the command can still say so.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_FIRST_WORDS = '"""tclab, the torch.compile lab'
_ADVICE = """tclab: {place} is not the torch.compile lab, but another package of that name
  next: install torch-compile-lab into an environment of its own; or, without the other package:
    pip uninstall tclab
    pip install --force-reinstall --no-deps torch-compile-lab"""


def main() -> int:
    """Run the command; the exit status, 1 where the module `tclab` is another package's."""
    if other := _other_package():
        print(_ADVICE.format(place=other), file=sys.stderr)
        return 1
    from tclab.__main__ import main as command

    return command()


def _other_package() -> str:
    """Where the module `tclab` lies if it is not ours; read, not run. '' where it is ours."""
    spec = importlib.util.find_spec("tclab")
    if spec is None or spec.origin is None:
        return "the module tclab"
    first = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    return "" if first.startswith(_FIRST_WORDS) else spec.origin
