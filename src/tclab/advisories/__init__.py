"""Known faults by version of PyTorch, one file of `entries/` each: which of them a compile has.

An entry is JSON: the fields of `Advisory`. Its `sample` and `near_miss` are lines of real code that
the patterns fit and do not fit, which the tests hold it to. A new file is a new entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tclab.model import Advice, Clause, GraphCounts, Snapshot, Version, decode_fields

FOLDER = Path(__file__).parent / "entries"
#: What harm a fault does, worst first.
HARMS = ("a wrong result", "a slower result")


@dataclass(frozen=True)
class Advisory:
    """A fault that is known. `versions` is a clause such as ``torch >= 2.13, torch < 2.15``.

    Each of `patterns`, regular expressions, is in the body of one kernel of this `language`
    (``python`` is Triton); or, with a `stage` such as ``backward``, in the list of one such graph's
    operators, a line each, of a compile with such kernels. `certain`: what fits has the fault;
    where it is false, it may have it. `snippet` checks it, and `checked` says what of it was run
    and what was read elsewhere.
    """

    title: str
    harm: str
    issue: str
    versions: str
    language: str
    stage: str
    patterns: tuple[str, ...]
    certain: bool
    workaround: str
    snippet: str
    checked: str
    sample: tuple[str, ...]
    near_miss: tuple[str, ...]

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(pattern, re.MULTILINE) for pattern in self.patterns)

    def affects(self, torch: str) -> bool:
        """Whether it is a fault of this PyTorch."""
        return Clause.of(self.versions).holds(Version.of(torch))

    def fits(self, text: str) -> bool:
        """Whether every pattern is in the text of one kernel or one graph."""
        return all(expression.search(text) for expression in self._expressions)

    def places(self, snapshot: Snapshot) -> Iterator[str]:
        """What of a compile fits, by its title; the version is not looked at."""
        kernels = [each for each in snapshot.kernels if each.language == self.language]
        for kernel in kernels if not self.stage else ():
            if self.fits(kernel.body):
                yield kernel.title
        for graph in snapshot.graphs if kernels else ():
            if graph.stage == self.stage and self.fits(operators(graph)):
                yield f"a {graph.stage} graph"


def operators(graph: GraphCounts) -> str:
    """The operators of a graph as patterns see them: a line each."""
    return "\n".join(graph.operators)


def load(folder: Path = FOLDER) -> tuple[Advisory, ...]:
    """The entries of a folder, wrong results first. ValueError or TypeError names what is wrong."""
    every = [_read(path) for path in sorted(folder.glob("*.json"))]
    return tuple(sorted(every, key=lambda each: HARMS.index(each.harm)))


def _read(path: Path) -> Advisory:
    try:
        entry = decode_fields(Advisory, json.loads(path.read_text(encoding="utf-8")))
        Clause.of(entry.versions)
        if entry.harm not in HARMS:
            raise ValueError(f"the harm is one of {HARMS}, not {entry.harm!r}")
    except (ValueError, TypeError) as problem:
        raise type(problem)(f"{path.name}: {problem}") from None
    return entry


def find(snapshot: Snapshot, entries: Iterable[Advisory] | None = None) -> tuple[Advice, ...]:
    """What is known of this compile's PyTorch and fits it, wrong results first."""
    every = load() if entries is None else entries
    known = (each for each in every if each.affects(snapshot.torch))
    return tuple(_advice(each, places) for each in known if (places := [*each.places(snapshot)]))


def _advice(entry: Advisory, places: Iterable[str]) -> Advice:
    return Advice(entry.title, entry.harm, entry.certain, entry.issue, entry.workaround,
                  tuple(dict.fromkeys(places)))  # fmt: skip
