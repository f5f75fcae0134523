"""Find the known faults of PyTorch versions in a compile. Each fault is a JSON file in `entries/`.

A file has the fields of `Advisory`. Its `sample` and `near_miss` are lines of real code; a test
checks that the patterns match the sample and do not match the near miss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from tclab.model import Advice, Clause, GraphCounts, Snapshot, Version, decode_fields

if TYPE_CHECKING:
    from importlib.abc import Traversable

ENTRIES_FOLDER = files(__name__) / "entries"
#: The possible harms of a fault, worst first.
HARMS = ("a wrong result", "a slower result")


@dataclass(frozen=True)
class Advisory:
    """A known fault. `versions` is a clause such as ``torch >= 2.13, torch < 2.15``.

    All of `patterns`, regular expressions, must match the body of one kernel in `language`
    (``python`` is Triton). If `stage` is set, for example to ``backward``, they must match the
    operators of one graph of this stage, one operator in each line, in a compile with kernels in
    `language`. A compile that matches has the fault if the advisory is `certain`; else it may have
    the fault. `snippet` checks the fault; `checked` says what was run and what was only read.
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
        """Return whether this PyTorch version has the fault."""
        return Clause.parse(self.versions).holds(Version.parse(torch))

    def fits(self, text: str) -> bool:
        """Return whether every pattern matches the text of one kernel or one graph."""
        return all(expression.search(text) for expression in self._expressions)

    def find_places(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield the titles of the kernels or graphs that match the fault, for any PyTorch
        version.
        """
        kernels = [each for each in snapshot.kernels if each.language == self.language]
        for kernel in kernels if not self.stage else ():
            if self.fits(kernel.body):
                yield kernel.title
        for graph in snapshot.graphs if kernels else ():
            if graph.stage == self.stage and self.fits(list_operators(graph)):
                yield f"a {graph.stage} graph"


def list_operators(graph: GraphCounts) -> str:
    """Return a graph's operators as the text that patterns are matched with, one operator a
    line.
    """
    return "\n".join(graph.operators)


def load(folder: Traversable = ENTRIES_FOLDER) -> tuple[Advisory, ...]:
    """Return a folder's entries, wrong results first. Raises ValueError or TypeError for an entry
    that is wrong.
    """
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    every = [_read_entry(path) for path in paths if path.name.endswith(".json")]
    return tuple(sorted(every, key=lambda each: HARMS.index(each.harm)))


def _read_entry(path: Traversable) -> Advisory:
    try:
        entry = decode_fields(Advisory, json.loads(path.read_text(encoding="utf-8")))
        Clause.parse(entry.versions)
        if entry.harm not in HARMS:
            raise ValueError(f"the harm is one of {HARMS}, not {entry.harm!r}")
    except (ValueError, TypeError) as problem:
        raise type(problem)(f"{path.name}: {problem}") from None
    return entry


def find(snapshot: Snapshot, entries: Iterable[Advisory] | None = None) -> tuple[Advice, ...]:
    """Return advice on each known fault that the compile matches, wrong results first."""
    every = load() if entries is None else entries
    known = (each for each in every if each.affects(snapshot.torch))
    return tuple(
        _make_advice(each, places) for each in known if (places := [*each.find_places(snapshot)])
    )


def _make_advice(entry: Advisory, places: Iterable[str]) -> Advice:
    return Advice(entry.title, entry.harm, entry.certain, entry.issue, entry.workaround,
                  tuple(dict.fromkeys(places)))  # fmt: skip
