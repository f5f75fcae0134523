"""Keep measured parts, and write the table of figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tclab.system import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = HERE / "work"


@dataclass(frozen=True)
class Figure:
    """One line of the table. `limit` is the value to reach, after ``<=`` or ``>=``. `limit` is what
    to reach, with ``<=`` or ``>=`` in front.

    `detail`, if any, is a table of its own that stands below: a heading row, then the others.
    """

    name: str
    what: str
    value: float
    limit: str = ""
    unit: str = ""
    note: str = ""
    detail: list[list[str]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """``met``, ``not met``, or a dash if there is no limit."""
        if not self.limit:
            return "–"
        sign, bound = self.limit[:2], float(self.limit[2:])
        return (
            "met" if (self.value <= bound if sign == "<=" else self.value >= bound) else "not met"
        )


@dataclass
class Parts:
    """Measured parts by name, entries in one JSON file."""

    path: Path
    done: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = WORK / "parts.json") -> Parts:
        """Load the parts measured so far."""
        return cls(path, json.loads(path.read_text()) if path.exists() else {})

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return the part called `name`; measure it now if it never was."""
        if name not in self.done:
            print(f"  {name} …", flush=True)
            self.done[name] = measure()
            self.save()
        print(f"  {name}: {json.dumps(self.done[name])[:120]}", flush=True)
        return self.done[name]

    def forget(self, prefix: str) -> None:
        """Forget every part whose name begins with `prefix`, so that it is measured again."""
        self.done = {k: v for k, v in self.done.items() if not k.startswith(prefix)}
        self.save()

    def save(self) -> None:
        """Write the file in one step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.done, indent=1, sort_keys=True) + "\n")
        new.replace(self.path)


def conditions() -> dict[str, str]:
    """Return the conditions on which the numbers depend."""
    here = machine.here()
    return {
        "date": here.date,
        "torch": here.torch,
        "Triton": here.triton or "none",
        "Python": here.python,
        "processor": here.cpu,
        "cores used": "2",
    }


def write(figures: list[Figure], to: Path = HERE) -> None:
    """Merge `figures` into results.json and write RESULTS.md from it."""
    data_file = to / "results.json"
    entries = json.loads(data_file.read_text()) if data_file.exists() else {}
    conditioned = conditions()
    for figure in figures:
        entries[figure.name] = {"figure": asdict(figure), "conditions": conditioned}
    data_file.write_text(json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    (to / "RESULTS.md").write_text(table(entries), encoding="utf-8")


def table(entries: dict[str, Any]) -> str:
    """Return the text of RESULTS.md."""
    rows = [
        "# Figures",
        "",
        "Made by `make bench`; see `benchmarks/`. Ratios compare things measured in one run on one",
        "machine. Nothing here is asserted by a test.",
        "",
        "| figure | measured | to reach | | conditions |",
        "| --- | ---: | ---: | --- | --- |",
    ]
    for entry in entries.values():
        figure, c = Figure(**entry["figure"]), entry["conditions"]
        where = f"{c['date']}, torch {c['torch']}, Python {c['Python']}, {c['cores used']} cores"
        limit = figure.limit.replace("<=", "≤ ").replace(">=", "≥ ") + figure.unit
        note = f"; {figure.note}" if figure.note else ""
        rows.append(
            f"| {figure.what} | {figure.value:.3g}{figure.unit} | {limit if figure.limit else '–'} "
            f"| {figure.verdict} | {where}{note} |"
        )
    machines = sorted({entry["conditions"]["processor"] for entry in entries.values()})
    rows += ["", "Processor: " + "; ".join(machines)]
    return "\n".join([*rows, *details(entries), ""])


def details(entries: dict[str, Any]) -> Iterator[str]:
    """Return the tables below the main one, each under its subject."""
    for entry in entries.values():
        figure = Figure(**entry["figure"])
        if figure.detail:
            head, *rows = figure.detail
            yield from ("", f"## {figure.what}: page by page", "")
            yield f"| {' | '.join(head)} |"
            yield "| --- |" + " ---: |" * (len(head) - 1)
            yield from (f"| {' | '.join(row)} |" for row in rows)
