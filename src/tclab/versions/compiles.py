"""A corpus of the catalogue under the PyTorch that is here: a snapshot a function, a file each.

``python -m tclab.versions.compiles FOLDER CORPUS TARGET [NAME…]`` compiles what FOLDER lacks. It
goes on where another process was stopped.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from tclab import files, machine
from tclab.model import Provenance, encode
from tclab.targets import TargetError


def main() -> None:
    """Write a file for each function that has none."""
    from tclab.catalog import examples

    folder, corpus, target, *names = sys.argv[1:]
    here, every = machine.here(), examples(corpus)
    beside = {"packages": _packages()} if corpus == "models" else {}
    for name in names or every:
        path = Path(folder, corpus, target, f"{name.replace('/', '-')}.json")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = {**beside, **compiled(every[name], target, here)}
            files.replace(path, json.dumps(data, indent=1))


def compiled(example: Any, target: str, here: Provenance) -> dict[str, Any]:
    """The snapshot of an example as JSON data, or under ``failure`` why there is none."""
    import torch

    from tclab.capturing.target.capture import capture_for
    from tclab.snapshot import take

    torch.manual_seed(0)
    try:
        fn, arguments = example.make()
        capture = capture_for(fn, target, [(arguments, {})], backward=example.backward,
                              options=example.options)  # fmt: skip
        snapshot = take(capture, here, example.name, target)
    except TargetError as error:
        return {"name": example.name, "failure": str(error)}
    except Exception as error:
        return {"name": example.name, "failure": _first_cause(error)}
    return {"name": example.name, "snapshot": encode(snapshot)}


def _packages() -> str:
    """What the models of the catalogue are made with: ``timm 1.0.31, transformers 5.17.0``."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("timm", "transformers"))


def _first_cause(error: BaseException) -> str:
    """What went wrong below all that only passes it on: its type and the first line it says."""
    while below := error.__cause__ or getattr(error, "inner_exception", None):
        error = below
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


if __name__ == "__main__":
    main()
