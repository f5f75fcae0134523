"""In a process of the other environment: one explanation, written as JSON.

``python -m tclab.upgrade.child OUT`` reads the words of the request from stdin. It needs PyTorch
and, for a target, Triton; nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tclab.errors import BadRequest, TclabError, UnsupportedTorch
from tclab.explain import ExplainRequest, explain_named
from tclab.explain.load import causes


def main() -> None:
    """Write a report, or what is wrong; `ours` says that it tells nothing of PyTorch."""
    try:
        text = explain_named(ExplainRequest.parse(**json.load(sys.stdin))).to_json()
    except TclabError as error:
        lacks = _lacks(error)
        ours = isinstance(error, (BadRequest, UnsupportedTorch)) or bool(lacks)
        step = f"--with {lacks}, or the package it comes in" if lacks else error.next_step
        text = json.dumps({"problem": [error.place, error.cause, step], "ours": ours})
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


def _lacks(error: BaseException) -> str:
    """A module that this environment lacks; PyTorch's own come and go with its version."""
    names = [each.name or "" for each in causes(error) if isinstance(each, ModuleNotFoundError)]
    tops = (name.partition(".")[0] for name in names)
    return next((top for top in tops if top not in ("", "torch", "triton")), "")


if __name__ == "__main__":
    main()
