"""Explain one function in the other environment, and write the report as JSON.

``python -m tclab.upgrade.child OUT`` reads the request as JSON from stdin. The process needs
PyTorch and, for a target, Triton; it needs nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tclab.errors import BadRequest, TclabError, UnsupportedTorch
from tclab.explain import ExplainRequest, explain_named
from tclab.explain.load import causes


def main() -> None:
    """Write a report or a problem. The key `ours` marks a problem that PyTorch did not cause."""
    try:
        text = explain_named(ExplainRequest.parse(**json.load(sys.stdin))).to_json()
    except TclabError as error:
        package = _find_missing_package(error)
        ours = isinstance(error, (BadRequest, UnsupportedTorch)) or bool(package)
        step = f"--with {package}, or the package it comes in" if package else error.next_step
        text = json.dumps({"problem": [error.place, error.cause, step], "ours": ours})
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


def _find_missing_package(error: BaseException) -> str:
    """Return the package that this environment lacks; '' if it lacks none. A package that PyTorch
    itself tried to import does not count.
    """
    names = [each.name or "" for each in causes(error) if isinstance(each, ModuleNotFoundError)]
    tops = (name.partition(".")[0] for name in names)
    return next((top for top in tops if top not in ("", "torch", "triton")), "")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # exit even if a thread of the user's code still runs
