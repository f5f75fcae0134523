"""Compile `guard_kinds.py` in several folders and processes, and compare the guards that fail.

``python -m tests.compare.guards`` prints a row for each kind and says in which of the places its
identities are not those of the first; under any PyTorch that is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = Path(__file__).with_name("guard_kinds.py")
COMMENT = "# a comment\n# and one more\n\n"
#: The file's folder, and the text above its first line. Each place is compared with the first.
PLACES = {"as it is": ("a", ""), "line shifted": ("a", COMMENT), "folder moved": ("b/c", "")}
#: For the other process: its hash seed, its folder, and the text above the first line.
ELSEWHERE = "another process, seed, folder and line"

#: Kind → the identities of recompiles and breaks, as text.
Seen = dict[str, list[str]]


def seen(path: Path) -> Seen:
    """Compile each kind of the file, as far as Dynamo."""
    import torch

    from tclab.capturing import capture
    from tclab.compare import take_snapshot
    from tclab.system import machine

    here = machine.here()
    spec = importlib.util.spec_from_file_location("guard_kinds", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Dynamo looks there for globals
    spec.loader.exec_module(module)
    found = {}
    for name, calls in module.KINDS.items():
        torch._dynamo.reset()
        with capture() as captured:
            calls(lambda fn, **more: torch.compile(fn, backend="eager", **more))
        was = take_snapshot(captured, here)
        found[name] = [repr(each) for each in (*was.recompiles, *was.breaks)]
    return found


def compiled(folder: Path, places: dict[str, tuple[str, str]], seed: str) -> dict[str, Seen]:
    """Return the identities in each place, all compiled in one process."""
    folder.mkdir()
    program = "import sys; from tests.compare import guards; guards.main(*sys.argv[1:])"
    words = json.dumps([[name, *place] for name, place in places.items()])
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", program, words], cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path}, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(words: str) -> None:
    """Print the identities in each place, as one line of JSON."""
    found = {}
    for name, folder, above in json.loads(words):
        path = Path(folder, "guard_kinds.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(above + KINDS.read_text(encoding="utf-8"), encoding="utf-8")
        found[name] = seen(path.resolve())
    print(json.dumps(found))


def matrix(folder: Path, every: bool = True) -> dict[str, Seen]:
    """Return the identities in each place, in two processes; or only those in the first and the
    last place.
    """
    here = PLACES if every else dict([*PLACES.items()][:1])
    asked = (folder / "here", here, "1"), (folder / "there", {ELSEWHERE: ("d", COMMENT)}, "2")
    with ThreadPoolExecutor() as pool:
        first, last = pool.map(lambda words: compiled(*words), asked)
    return first | last


def drawn(places: dict[str, Seen]) -> str:
    """Return a line for each kind: where it is as in the first place, and below it the
    differences.
    """
    names = list(places)
    first = places[names[0]]
    lines = ["kind | " + " | ".join(names[1:])]
    for kind, was in first.items():
        others = {name: places[name][kind] for name in names[1:]}
        lines.append(f"{kind} | " + " | ".join("=" if o == was else "≠" for o in others.values()))
        lines += [f"    {was}\n    {o}" for o in list(others.values())[-1:] if o != was]
        lines += ["    nothing was compiled again"] * (not was)
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(drawn(matrix(Path(folder))))
