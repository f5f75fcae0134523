"""Define the identities of a compile's parts, by which two compiles are compared.

A snapshot has no time, address, folder, or name that another process would choose differently, so
that the same code compiled twice gives equal snapshots. `tclab.compare` makes and compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.codec import kind, read_json, write_json
from tclab.model.findings import FINDING_KINDS

SNAPSHOT_FORMAT = "tclab snapshot 1"
#: The cause of the error for an empty snapshot, which cannot be compared: all empty snapshots are
#: equal.
NOTHING = "nothing was compiled: there is no graph, and no break says why"


@kind("break-identity")
@dataclass(frozen=True)
class BreakIdentity:
    """The identity of a graph break: `what` is PyTorch's registry id, or the reason if the break
    has no id; `line` is the text of the user's line, not its number. `skipped` means that the whole
    function runs without compiling.
    """

    kind: ClassVar[str]
    what: str
    file: str
    function: str
    line: str
    skipped: bool = False

    def __str__(self) -> str:
        where = f"at {self.line} in" if self.line else f"in {self.function} of"
        return f"{self.what} {where} {self.file}"


@kind("recompile-identity")
@dataclass(frozen=True)
class RecompileIdentity:
    """A compile of code that had been compiled before, and the guards that failed."""

    kind: ClassVar[str]
    function: str
    file: str
    guards: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'; '.join(self.guards)}, in {self.function} of {self.file}"


@kind("graph-counts")
@dataclass(frozen=True)
class GraphCounts:
    """The operators of one graph of one stage: `operators` maps each operator to the number of its
    nodes.
    """

    kind: ClassVar[str]
    stage: str
    operators: Mapping[str, int]


# auto tmp_2 = double(tmp_1 + tmp_0);  but not  auto tmp_3 = c_0::convert<float>(tmp_2);
_EXPRESSION = re.compile(r"^auto \w+ = (?!\w+::convert<)(.+);$", re.MULTILINE)


@kind("kernel-identity")
@dataclass(frozen=True)
class KernelIdentity:
    """One generated kernel.

    `operators` are the ATen operators that it fuses. `text` is the digest of its source. `body` is
    its computation, in which buffers, values and indices are renamed in the order in which they
    occur. `launch` holds the further inputs of Inductor's heuristics, such as sizes and the
    pointers that are divisible by 16. `bytes` is Inductor's count of the bytes that it reads and
    writes. None means not known.
    """

    kind: ClassVar[str]
    operators: tuple[str, ...]
    category: str
    direction: str
    language: str
    text: str
    body: str
    launch: Mapping[str, str] = field(default_factory=dict)
    configuration: str = ""
    loads: int = 0
    stores: int = 0
    calls: int = 0
    bytes: int | None = None
    registers: int | None = None
    spilled: int | None = None
    shared: int | None = None

    @property
    def title(self) -> str:
        """A title for readers: its kind and the operators that it fuses."""
        made = self.category or ("C++" if self.language == "cpp" else self.language)
        return f"{made} {' + '.join(self.operators) or self._arithmetic()}".strip()

    def _arithmetic(self) -> str:
        """Return ``kernel of EXPRESSION`` for a C++ kernel without an operator, which calculates
        with a Python number; the expression is its last one. Return ``kernel`` for any other.
        """
        found = _EXPRESSION.findall(self.body) if self.language == "cpp" else []
        return f"kernel of {found[-1]}" if found else "kernel"


@kind("finding-identity")
@dataclass(frozen=True)
class FindingIdentity:
    """The identity of a finding: the `name` of its kind and its `subject`, which is the text of the
    user's lines, or the finding's text without numbers. The cost is not part of the identity.
    `amount` and `unit` are a computed or counted cost; a measured time is left out.
    """

    kind: ClassVar[str]
    name: str
    subject: str = ""
    amount: float = 0.0
    unit: str = ""

    def __str__(self) -> str:
        found = FINDING_KINDS.get(self.name)  # a later version can have other kinds
        return ": ".join(filter(None, (found.title if found else self.name, self.subject)))


@kind("snapshot")
@dataclass(frozen=True)
class Snapshot:
    """The identities of one compile. `target` is a GPU's name, '' for this machine.

    `library_calls` counts calls by name. `guards` counts the guards, and `python_guards` counts
    the guards that run Python code at each call. `skipped_graphs` are the reasons why CUDA
    graphs were not recorded. `planned_bytes` is the most memory that the buffers of one graph's
    wrapper take at once, for the graph with the most; None if a size is not known. `agreement` is
    the verdict on the results compared with eager's: ``equal``, ``differs``, ``random``, or '' if
    they were not compared. `findings` are the findings that no other part shows; None if the file's
    version had no rules for them.
    """

    kind: ClassVar[str]
    title: str = ""
    target: str = ""
    torch: str = ""
    triton: str = ""
    breaks: tuple[BreakIdentity, ...] = ()
    recompiles: tuple[RecompileIdentity, ...] = ()
    graphs: tuple[GraphCounts, ...] = ()
    kernels: tuple[KernelIdentity, ...] = ()
    library_calls: Mapping[str, int] = field(default_factory=dict)
    guards: int = 0
    python_guards: int = 0
    skipped_graphs: tuple[str, ...] = ()
    planned_bytes: int | None = None
    agreement: str = ""
    findings: tuple[FindingIdentity, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled, and no graph break says why."""
        return not (self.graphs or self.breaks or self.kernels or self.library_calls)

    def to_json(self) -> str:
        """Return the snapshot as one JSON object, which `from_json` reads."""
        return write_json(self, SNAPSHOT_FORMAT)

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """Read the text that `to_json` made. Raises ValueError or TypeError for JSON of another
        kind.
        """
        return read_json(cls, text, SNAPSHOT_FORMAT)
