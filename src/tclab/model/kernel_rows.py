"""Kernels in rows: those of a report, and the candidates that a GPU would choose among."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind
from tclab.model.kernels import Config, Resources, TimedAnswer


@kind("kernel-row")
@dataclass(frozen=True)
class KernelRow:
    """One kernel of one graph, or one call into a library and those that are the same call.

    `origins` are the ATen nodes that it computes, `lines` the user's, each once. `bytes` are what
    all of them read and write in memory, `registers` those of a thread, `spilled` the bytes of
    them that went to memory; None where it is not known, or where there is no such thing. `times`
    says how often it is launched or called in one run of its `graph`, which counts from 0 (None:
    the chains are not known). `pane` counts the panes of its `stage` from 1; of several calls it
    is the first.
    """

    kind: ClassVar[str]
    name: str
    category: str = ""
    language: str = ""
    direction: str = ""
    stage: str = ""
    pane: int = 1
    graph: int | None = None
    origins: tuple[str, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    bytes: int | None = None
    registers: int | None = None
    spilled: int | None = None
    instructions: int | None = None
    times: int = 1
    one_of_two: tuple[TimedAnswer, ...] = ()


@kind("candidate")
@dataclass(frozen=True)
class Candidate:
    """A configuration that a GPU would choose among, compiled. `rule` made it; `resources` is None
    where it does not compile, and `problem` says why.
    """

    kind: ClassVar[str]
    kernel: str
    rule: str
    config: Config
    resources: Resources | None = None
    problem: str = ""


@kind("candidates")
@dataclass(frozen=True)
class Candidates(Artifact):
    """The candidates of each kernel that has several, the first of them those that are shown."""

    candidates: tuple[Candidate, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)
