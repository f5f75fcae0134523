"""Compile a corpus of the catalogue under this PyTorch, and write each snapshot into a file.

``python -m tclab.workshop.versions.compiles FOLDER CORPUS TARGET [NAME…]`` compiles the functions
that have no file in FOLDER. So it continues where another process stopped.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from tclab.model import Provenance, encode
from tclab.system import files, machine
from tclab.targets import TargetError


def main() -> None:
    """Write a file for each function that has none yet."""
    from tclab.workshop.catalog import examples

    folder, corpus, target, *names = sys.argv[1:]
    here, known = machine.here(), examples(corpus)
    more = {"packages": _describe_packages()} if corpus == "models" else {}
    for name in names or known:
        path = Path(folder, corpus, target, f"{name.replace('/', '-')}.json")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = {**more, **compile_example(known[name], target, here)}
            files.replace(path, json.dumps(data, indent=1))


def compile_example(example: Any, target: str, here: Provenance) -> dict[str, Any]:
    """Return, as JSON data, an example's snapshot; if it does not compile, return the reason under
    ``failure``.
    """
    import torch

    from tclab.capturing.target.capture import capture_for
    from tclab.compare import take_snapshot

    torch.manual_seed(0)
    try:
        fn, arguments = example.make()
        # Assume the same answer for each version, because only some versions have measurements.
        capture = capture_for(fn, target, [(arguments, {})], backward=example.backward,
                              options=example.options, assume={"pad": "yes"})  # fmt: skip
        snapshot = take_snapshot(capture, here, example.name, target)
    except TargetError as error:
        return {"name": example.name, "failure": str(error)}
    except Exception as error:
        return {"name": example.name, "failure": _describe_root_cause(error)}
    return {"name": example.name, "snapshot": encode(snapshot)}


def _describe_packages() -> str:
    """Return the versions of the models' packages: ``timm 1.0.31, transformers 5.17.0``."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("timm", "transformers"))


def _describe_root_cause(error: BaseException) -> str:
    """Return the innermost error's type and the first line of its message."""
    while inner := error.__cause__ or getattr(error, "inner_exception", None):
        error = inner
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


if __name__ == "__main__":
    main()
