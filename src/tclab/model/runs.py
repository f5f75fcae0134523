"""What runs, and what happened when it did: Snippet, Run, Provenance, Failure."""

from __future__ import annotations

import ast
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import FROM_TEXT, kind
from tclab.model.versions import Clause, Version


@kind("claim")
@dataclass(frozen=True)
class Claim:
    """An assert with a name. `only` says of which versions of PyTorch it is made.

    Of a run, `reached` counts how often it was; it `held` if it was, and never failed.
    """

    kind: ClassVar[str]
    name: str
    line: int  # of the assert
    code: str  # the assert itself, on one line
    only: Clause = field(default=Clause(), metadata={FROM_TEXT: Clause.of})
    reached: int = 0
    broken: str = ""  # the failed assert's message
    held: bool = False


@dataclass(frozen=True)
class Snippet:
    """One runnable file under ``snippets/``. `name` is ``topic/what_it_shows``."""

    name: str
    path: Path
    title: str  # first line of the docstring
    caption: str  # the rest of it
    source: str
    needs: frozenset[str] = frozenset()  # of NEEDS
    raises: str = ""  # dotted name of the error it must end with
    timeout: float = 300.0  # seconds
    memory: int = 4096  # MiB of resident memory, with child processes
    includes: tuple[Path, ...] = ()  # local files it imports, besides itself
    alone: bool = False  # timed: a cold process, empty caches, nothing else running
    claims: tuple[Claim, ...] = ()
    place: str = ""  # the file as errors name it, where it is not snippets/NAME.py
    runner: str = ""  # dotted name of what executes the file in its process; plain exec without

    @property
    def file(self) -> str:
        """The file as errors name it: from the project's root on."""
        return self.place or f"snippets/{self.name}.py"

    @property
    def topic(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def sees_gpu(self) -> bool:
        """It runs where a GPU is visible: it needs one, or is a lab, which takes what is there."""
        return "cuda" in self.needs or bool(self.runner)

    def claim(self, name: str) -> Claim | None:
        """The claim called `name`; None where the file makes none of that name."""
        return next((claim for claim in self.claims if claim.name == name), None)

    @property
    def tree(self) -> ast.Module:
        """The file's syntax, shared: not to be changed."""
        return parsed(self.source)

    @property
    def code_start(self) -> int:
        """The line below the docstring, from 1; the first where there is none."""
        there = ast.get_docstring(self.tree) is not None
        return (self.tree.body[0].end_lineno or 0) + 1 if there else 1


def source_lines(source: str) -> list[str]:
    """The lines of a file, counted as Python counts them: a form feed and the like end none."""
    return source.removesuffix("\n").split("\n")


@lru_cache(maxsize=1024)  # more than the snippets and labs of the project
def parsed(source: str) -> ast.Module:
    """The syntax of a file, parsed once in a process. SyntaxError, ValueError as of `ast.parse`."""
    return ast.parse(source)


NEEDS = frozenset({"cuda", "two_gpus", "triton", "cxx", "packages"})


@kind("provenance")
@dataclass(frozen=True)
class Provenance:
    """What made a run. Empty text where the machine has no such thing."""

    kind: ClassVar[str]
    torch: str
    torch_git: str
    python: str
    cpu: str
    system: str
    date: str  # ISO day, UTC
    triton: str = ""
    cuda: str = ""
    gpu: str = ""
    driver: str = ""
    cores: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)  # TORCH*, TRITON*, … that were set

    def __post_init__(self) -> None:
        if self.date and not _is_day(self.date):
            raise ValueError(f"{self.date!r} is no day such as 2026-01-31")

    @property
    def version(self) -> Version:
        """PyTorch's version, to be compared."""
        return Version.of(self.torch)

    def of(self, snippet: Snippet) -> Provenance:
        """That of a snippet's run: one that sees no GPU ran on the CPU, whatever is there."""
        return self if snippet.sees_gpu else self.without_gpu()

    def without_gpu(self) -> Provenance:
        """The same where no GPU is visible."""
        variables = {n: v for n, v in self.variables.items() if n != "CUDA_VISIBLE_DEVICES"}
        return replace(self, gpu="", driver="", variables=variables)


def _is_day(text: str) -> bool:
    """It is an ISO day that a time stamp in a file can hold: 32 bits of seconds since 1970."""
    try:
        return "1970" <= text < "2106" and str(dt.date.fromisoformat(text)) == text
    except ValueError:
        return False


@kind("source")
@dataclass(frozen=True)
class Source:
    """Where recorded data that a run read was measured, or made. Empty text: it does not say."""

    kind: ClassVar[str]
    torch: str
    triton: str = ""
    gpu: str = ""  # where it was measured
    cpu: str = ""
    target: str = ""  # the GPU that it was made for, on a machine without one
    dates: tuple[str, ...] = ()  # ISO days, UTC, in order

    @property
    def version(self) -> Version:
        """PyTorch's version, to be compared."""
        return Version.of(self.torch)


@kind("failure")
@dataclass(frozen=True)
class Failure:
    """Why a run failed. `cause` is one of CAUSES."""

    kind: ClassVar[str]
    cause: str
    message: str
    location: SourceLine | None = None
    traceback: str = ""
    next_step: str = ""


#: raised: an error; assertion: an assert; exit: sys.exit or os._exit; signal: killed by one;
#: timeout, memory, output: over its limit; files: over its limit, or the disk is full;
#: did_not_raise: an expected error did not come;
#: artifact: what it showed cannot be read back; worker: the engine lost the process.
CAUSES = (
    *("raised", "assertion", "exit", "signal", "timeout", "memory", "output"),
    "files",
    *("did_not_raise", "artifact", "worker"),
)


@kind("run")
@dataclass(frozen=True)
class Run:
    """What happened when a snippet ran once."""

    kind: ClassVar[str]
    snippet: str
    environment: str  # "here", or the name of the recording's folder
    source_key: str  # digest of the snippet, and of the files it includes and reads
    provenance: Provenance
    seconds: float
    peak_memory: int  # bytes
    artifacts: tuple[Artifact, ...] = ()
    stdout: str = ""
    stderr: str = ""
    failure: Failure | None = None
    raised: str = ""  # the declared error's text, where the snippet declares one
    claims: tuple[Claim, ...] = ()
    rests_on: Mapping[str, str] = field(default_factory=dict)  # imported file → digest
    sources: tuple[Source, ...] = ()  # of the recordings that it read

    @property
    def ok(self) -> bool:
        return self.failure is None

    @property
    def measured(self) -> tuple[Source, ...]:
        """Where its figures were measured: the recordings that it read, else what made it."""
        made = self.provenance
        own = Source(made.torch, made.triton, made.gpu, made.cpu, dates=(made.date[:10],))
        return self.sources or (own,)

    def artifact(self, name: str) -> Artifact:
        """The artifact called `name`; KeyError names those there are."""
        for a in self.artifacts:
            if a.name == name:
                return a
        there = ", ".join(a.name for a in self.artifacts) or "none"
        raise KeyError(f"{self.snippet} shows no {name!r}; it shows: {there}")

    def claim(self, name: str) -> Claim | None:
        """The claim called `name`; None where the snippet made none of that name then."""
        return next((claim for claim in self.claims if claim.name == name), None)
