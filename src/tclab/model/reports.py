"""What `tclab explain` makes: everything of one function, as one artifact."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tclab.model.artifacts import Annotated, Artifact, Chain, Table
from tclab.model.codec import decode, encode_object, kind
from tclab.model.compiles import Breaks, Guards, Recompiles, Symbols
from tclab.model.kernel_rows import Candidates, KernelRow
from tclab.model.runs import Provenance

FORMAT = "tclab explain 4"
_NOWHERE = Provenance("", "", "", "", "", "")


@kind("report")
@dataclass(frozen=True)
class Report(Artifact):
    """Everything that `tclab explain` says of one function. `title` is what was explained.

    `calls` are the arguments of each call in words; `target` is a GPU's name, '' for this machine.
    `refusal` is (place, cause, next step) where the target was refused; then there are only
    graphs, breaks and guards, or all but machine code. `gaps` are the same of parts that were
    refused while the rest is shown; `left_out`, of what would take long and was not asked for.
    `fault` says why the stages could not be
    linked, where they could not. `warnings` are what other packages said meanwhile.
    """

    calls: tuple[str, ...] = ()
    target: str = ""
    backward: bool = False
    remarks: tuple[str, ...] = ()
    refusal: tuple[str, str, str] | tuple[()] = ()
    gaps: tuple[tuple[str, str, str], ...] = ()
    left_out: tuple[tuple[str, str, str], ...] = ()
    fault: str = ""
    summary: Table = field(default_factory=Table)
    kernels: tuple[KernelRow, ...] = ()
    candidates: Candidates = field(default_factory=Candidates)
    sources: tuple[Annotated, ...] = ()
    breaks: Breaks = field(default_factory=Breaks)
    recompiles: Recompiles = field(default_factory=Recompiles)
    symbols: Symbols = field(default_factory=Symbols)
    guards: tuple[Guards, ...] = ()
    chains: tuple[Chain, ...] = ()
    times: Table = field(default_factory=Table)
    provenance: Provenance = _NOWHERE
    warnings: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it has everything that was asked for."""
        return not (self.refusal or self.gaps or self.left_out or self.fault)

    @property
    def has_kernels(self) -> bool:
        """Whether some chain reaches a kernel."""
        stages = {pane.stage for chain in self.chains for pane in chain.panes}
        return not stages.isdisjoint({"kernel", "cpp"})

    def to_json(self) -> str:
        """One JSON object; `from_json` reads it back."""
        data = {"format": FORMAT, **encode_object(self)}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The inverse of `to_json`. ValueError for JSON of another kind."""
        data: dict[str, Any] = json.loads(text)
        if data.pop("format", None) != FORMAT:
            raise ValueError(f"not a report of the format {FORMAT!r}")
        report: Report = decode(data)
        return report
