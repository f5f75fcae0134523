"""Define snippets, and the results of running them: Snippet, Run, Provenance, Failure."""

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
    """A named assert of a snippet. `only` is the clause on versions of PyTorch to which it applies.

    In a run, `reached` counts how often the assert was reached; the claim `held` if it was reached
    and was true each time.
    """

    kind: ClassVar[str]
    name: str
    line: int  # the line of the assert
    code: str  # the assert itself, on one line
    only: Clause = field(default=Clause(), metadata={FROM_TEXT: Clause.parse})
    reached: int = 0
    broken: str = ""  # the failed assert's message, or why its test decided nothing
    held: bool = False


@dataclass(frozen=True)
class Snippet:
    """One runnable file under ``snippets/``. `name` is ``topic/what_it_shows``."""

    name: str
    path: Path
    title: str  # first line of the docstring
    caption: str  # the rest of the docstring
    source: str
    needs: frozenset[str] = frozenset()  # members of NEEDS
    raises: str = ""  # dotted name of the error that must end the run
    timeout: float = 300.0  # seconds
    memory: int = 4096  # MiB of resident memory, child processes included
    includes: tuple[Path, ...] = ()  # local files that it imports
    # the snippet measures times, and needs a fresh process, empty caches and an idle machine
    alone: bool = False
    claims: tuple[Claim, ...] = ()
    place: str = ""  # path for errors, if not snippets/NAME.py
    runner: str = ""  # dotted name of the function that executes the file; '' for plain exec

    @property
    def file(self) -> str:
        """The path of the file from the project's root, as errors name it."""
        return self.place or f"snippets/{self.name}.py"

    @property
    def topic(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def sees_gpu(self) -> bool:
        """Whether the snippet's process can see a GPU. A snippet sees one if it needs one, or if it
        is a lab (no file of ``snippets/``), which uses a GPU if there is one.
        """
        return "cuda" in self.needs or bool(self.place)

    def claim(self, name: str) -> Claim | None:
        """Return the claim with this name; None if the file has none."""
        return next((claim for claim in self.claims if claim.name == name), None)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the file. Do not change the tree, because it is shared."""
        return parse_source(self.source)

    @property
    def code_start(self) -> int:
        """The number of the line below the docstring; 1 if there is no docstring."""
        has_docstring = ast.get_docstring(self.tree) is not None
        return (self.tree.body[0].end_lineno or 0) + 1 if has_docstring else 1


def source_lines(source: str) -> list[str]:
    """Split a file into lines as Python counts them: a form feed does not end a line."""
    return source.removesuffix("\n").split("\n")


@lru_cache(maxsize=1024)  # the project has fewer snippets and labs than this
def parse_source(source: str) -> ast.Module:
    """Parse a file, once in a process. Raises SyntaxError and ValueError as `ast.parse` does."""
    return ast.parse(source)


NEEDS = frozenset({"cuda", "two_gpus", "triton", "cxx", "packages"})


@kind("provenance")
@dataclass(frozen=True)
class Provenance:
    """The software and hardware that made a run. A text is empty if the machine has no such
    part.
    """

    kind: ClassVar[str]
    torch: str
    torch_git: str
    python: str
    cpu: str
    system: str
    date: str  # ISO day, UTC
    triton: str = ""
    compiler: str = ""  # the C++ compiler's version and, in brackets, the digest of its files
    cuda: str = ""
    gpu: str = ""
    driver: str = ""
    cores: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)  # TORCH*, TRITON*, … that are set

    def __post_init__(self) -> None:
        if self.date and not _is_day(self.date):
            raise ValueError(f"{self.date!r} is no day such as 2026-01-31")

    @property
    def version(self) -> Version:
        """PyTorch's version, for comparisons."""
        return Version.parse(self.torch)

    def for_snippet(self, snippet: Snippet) -> Provenance:
        """Return the provenance of a snippet's run on this machine: without the GPU if the snippet
        cannot see it.
        """
        return self if snippet.sees_gpu else self.without_gpu()

    def without_gpu(self) -> Provenance:
        """Return the same provenance without GPU, driver and CUDA_VISIBLE_DEVICES."""
        variables = {n: v for n, v in self.variables.items() if n != "CUDA_VISIBLE_DEVICES"}
        return replace(self, gpu="", driver="", variables=variables)


def _is_day(text: str) -> bool:
    """Return whether the text is an ISO day from 1970 to 2105, because a file's time stamp has 32
    bits.
    """
    try:
        return "1970" <= text < "2106" and str(dt.date.fromisoformat(text)) == text
    except ValueError:
        return False


@kind("source")
@dataclass(frozen=True)
class Source:
    """The origin of recorded data that a run read. A text is empty if the data does not say it."""

    kind: ClassVar[str]
    torch: str
    triton: str = ""
    gpu: str = ""  # the GPU that measured it
    cpu: str = ""
    target: str = ""  # the GPU that code was made for, on a machine without it
    dates: tuple[str, ...] = ()  # ISO days, UTC, in order

    @property
    def version(self) -> Version:
        """PyTorch's version, for comparisons."""
        return Version.parse(self.torch)


@kind("failure")
@dataclass(frozen=True)
class Failure:
    """The reason why a run failed. `cause` is one of CAUSES."""

    kind: ClassVar[str]
    cause: str
    message: str
    location: SourceLine | None = None
    traceback: str = ""
    next_step: str = ""


#: The causes of a failure. raised: an error; assertion: a failed assert; unsteady: times that vary
#: too much; exit: sys.exit or os._exit; signal: killed by a signal; timeout, memory, output: the
#: run exceeded this limit; files: the run exceeded this limit, or the disk is full; did_not_raise:
#: the expected error did not occur; artifact: a shown artifact cannot be read back; worker: the
#: engine lost the process.
CAUSES = (
    *("raised", "assertion", "unsteady", "exit", "signal", "timeout", "memory", "output"),
    "files",
    *("did_not_raise", "artifact", "worker"),
)


@kind("run")
@dataclass(frozen=True)
class Run:
    """The outcome of one run of a snippet."""

    kind: ClassVar[str]
    snippet: str
    environment: str  # "here", or the name of the recording's folder
    source_key: str  # digest of the snippet and of the files that it includes and reads
    provenance: Provenance
    seconds: float
    peak_memory: int  # bytes
    artifacts: tuple[Artifact, ...] = ()
    stdout: str = ""
    stderr: str = ""
    failure: Failure | None = None
    raised: str = ""  # text of the error that the snippet declares, or ''
    claims: tuple[Claim, ...] = ()
    rests_on: Mapping[str, str] = field(
        default_factory=dict
    )  # file that the run imported → its digest
    packages: Mapping[str, str] = field(default_factory=dict)  # imported distribution → version
    sources: tuple[Source, ...] = ()  # origins of the recordings that it read

    @property
    def ok(self) -> bool:
        return self.failure is None

    @property
    def figure_sources(self) -> tuple[Source, ...]:
        """The origins of the run's figures: the recordings that the run read, else its own
        provenance.
        """
        made = self.provenance
        own = Source(made.torch, made.triton, made.gpu, made.cpu, dates=(made.date[:10],))
        return self.sources or (own,)

    def artifact(self, name: str) -> Artifact:
        """Return the artifact with this name. Raises KeyError, which lists the names of the
        artifacts, if there is none.
        """
        for artifact in self.artifacts:
            if artifact.name == name:
                return artifact
        names = ", ".join(artifact.name for artifact in self.artifacts) or "none"
        raise KeyError(f"{self.snippet} shows no {name!r}; it shows: {names}")

    def claim(self, name: str) -> Claim | None:
        """Return the claim with this name; None if the snippet had none when it ran."""
        return next((claim for claim in self.claims if claim.name == name), None)
