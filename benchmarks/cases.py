"""Score whether `tclab explain` leads to the true cause, for small files with a known fault.

``PYTHONPATH=src python -m benchmarks.cases [--symptoms] [--fixes] [--lines 25] [--jobs 2] [NAME…]``
runs ``tclab explain`` on each file of ``tests/explain/cases`` in a process of its own, takes the
first lines of what the terminal shows, and holds them against the file's head: every text after
``First screen has`` has to stand there (``||`` parts alternatives, ``at CODE`` means that line's
number), none of those after ``Not``. A screen that ``--screens`` kept is read instead of run while
neither tclab's code nor the file has changed. ``--symptoms`` asks PyTorch alone whether each file
has its fault, and ``--fixes`` whether each fix that a screen calls tried removes it.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "explain" / "cases"

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._inductor.compile_fx"])  # imported once, for all processes


@dataclass(frozen=True)
class Case:
    """A file with a fault: its function, and the texts that a right first screen has."""

    path: Path
    kind: str
    explained: tuple[str, ...]  # the name in the file, and options
    symptom: str
    compiles_itself: bool
    needles: tuple[tuple[str, ...], ...]  # the screen must have one text of each
    refuted: tuple[str, ...]  # the screen must have none of these

    def missing(self, screen: str) -> list[str]:
        """Return what keeps the screen from being a right answer; empty if it is one."""
        flat = re.sub(r"\s+", " ", screen)
        absent = [
            " || ".join(n) for n in self.needles if not any(self._has(flat, one) for one in n)
        ]
        return [f"lacks: {each}" for each in absent] + [
            f"says: {each}" for each in self.refuted if each in flat
        ]

    def _has(self, screen: str, needle: str) -> bool:
        if not needle.startswith("at "):
            return needle.lower() in screen.lower()
        numbers = "|".join(map(str, self._lines(needle.removeprefix("at "))))
        return bool(re.search(rf"(\blines? (\d+, )*|\.py:)({numbers})\b", screen))

    def _lines(self, code: str) -> list[int]:
        lines = enumerate(self.path.read_text().splitlines(), 1)
        found = [k for k, line in lines if code in line and not line.startswith("#")]
        if not found:
            raise ValueError(f"{self.path}: no line has {code!r}, which its head asks for")
        return found


def read(path: Path) -> Case:
    """Read a case from the comments at the head of its file."""
    text = path.read_text().replace("\n#   ", " ")
    head = dict(re.findall(r"^# ([A-Z][\w ]+): (.+)$", text, re.MULTILINE))
    return Case(
        path,
        head["Kind"],
        tuple(head["Explain"].split()),
        head["Symptom"],
        head.get("Compiles") == "itself",
        tuple(
            tuple(one.strip() for one in n.split("||")) for n in _parts(head["First screen has"])
        ),
        tuple(one.strip() for one in _parts(head.get("Not", "")) if one.strip()),
    )


def _parts(line: str) -> list[str]:
    return re.split(r" \| ", line)


def cases(names: list[str] | None = None) -> list[Case]:
    """Return all cases, or those whose file's name or kind contains one of the texts."""
    every = [read(path) for path in sorted(FOLDER.glob("*.py"))]
    return [c for c in every if not names or any(n in c.path.name or n in c.kind for n in names)]


def first_screen(case: Case, lines: int = 25) -> str:
    """Return the first lines that ``tclab explain`` prints of the case's file, in a process of its
    own.
    """
    with tempfile.TemporaryDirectory() as folder:
        child = PROCESSES.Process(target=explain_case, args=(case, folder))
        child.start()
        child.join()
        return "\n".join(Path(folder, "screen").read_text().splitlines()[:lines])


def kept_screen(case: Case, lines: int, folder: Path | None) -> str:
    """Return the first screen from the folder if the same code wrote it there, else run it."""
    if folder is None:
        return first_screen(case, lines)
    file = folder / f"{case.path.stem}.{_code_digest(case)}.txt"
    if not file.exists():
        screen = first_screen(case, lines)
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(screen)
    return file.read_text()


def _code_digest(case: Case) -> str:
    """Return a digest of tclab's code and of the case's file: what decides its first screen."""
    digest = hashlib.sha256()
    for path in [case.path, *sorted((ROOT / "src" / "tclab").rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def explain_case(case: Case, folder: str) -> None:
    """Run ``tclab explain`` on the case in this process and end it. All output goes to the file
    `screen` of the folder.
    """
    file = os.open(f"{folder}/screen", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ |= {"COLUMNS": "200", "NO_COLOR": "1"}
    name, *options = case.explained
    sys.argv = ["tclab", "explain", f"{case.path}:{name}", *options]
    sys.argv += ["-o", f"{folder}/report.html"]

    from tclab.__main__ import main as tclab

    sys.exit(tclab())


def main() -> None:
    """Print a line for each case, with the texts that its first screen lacks, and the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--symptoms", action="store_true")
    parser.add_argument("--fixes", action="store_true")
    parser.add_argument("--lines", type=int, default=25)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--screens", type=Path, help="a folder for what the terminal showed")
    asked = parser.parse_args()
    chosen = cases(asked.names)
    if asked.symptoms:
        from benchmarks.case_symptoms import Program, has_symptom

        answers = [has_symptom(Program(case)) for case in chosen]
        for case, (holds, seen) in zip(chosen, answers):
            print(f"{case.path.stem:32} {case.symptom:22} {'holds' if holds else 'NOT'}: {seen}")
        sys.exit(not all(holds for holds, _ in answers))
    if asked.fixes:
        from benchmarks.case_fixes import print_fixes

        failed = [case for case in chosen if not print_fixes(case, asked.lines)]
        sys.exit(bool(failed))
    right = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        asks = {pool.submit(kept_screen, case, asked.lines, asked.screens): case for case in chosen}
        for ask in as_completed(asks):
            case, screen = asks[ask], ask.result()
            missing = case.missing(screen)
            right += not missing
            print(f"{case.path.stem:32} {'; '.join(missing) or 'right'}", flush=True)
    print(f"{right} of {len(chosen)} right")


if __name__ == "__main__":
    main()
