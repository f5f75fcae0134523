"""What an explanation holds, and its JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclab import machine
from tclab.model import (
    Annotated,
    Breaks,
    Chain,
    Guards,
    Provenance,
    Recompiles,
    Symbols,
    Table,
    decode,
    encode,
)
from tclab.scrub import scrub, scrub_data

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject
    from tclab.targets import Target

FORMAT = "tclab explain 2"


@dataclass(frozen=True)
class Report:
    """Everything one explanation says. Its artifacts are those of `tclab.model`.

    `refusal` is (place, cause, next step) where the target was refused; then there are only
    graphs, breaks and guards, or all but machine code.
    """

    title: str  # what was explained
    calls: tuple[str, ...]  # the arguments of each call, in words
    target: str  # a GPU's name, '' for this machine
    backward: bool
    remarks: tuple[str, ...]
    refusal: tuple[str, str, str] | tuple[()]
    summary: Table
    sources: tuple[Annotated, ...]
    breaks: Breaks
    recompiles: Recompiles
    symbols: Symbols
    guards: tuple[Guards, ...]
    chains: tuple[Chain, ...]
    times: Table
    provenance: Provenance

    @property
    def has_kernels(self) -> bool:
        """Whether some chain reaches a kernel."""
        stages = {pane.stage for chain in self.chains for pane in chain.panes}
        return not stages.isdisjoint({"kernel", "cpp"})

    def to_json(self) -> str:
        """One JSON object; `from_json` reads it back."""
        data = {f.name: encode(getattr(self, f.name)) for f in fields(self)}
        return json.dumps({"format": FORMAT, **data}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The inverse of `to_json`. ValueError for JSON of another kind."""
        data: dict[str, Any] = json.loads(text)
        if data.pop("format", None) != FORMAT:
            raise ValueError(f"not a report of the format {FORMAT!r}")
        return cls(**{name: decode(value) for name, value in data.items()})


def build(
    subject: Subject,
    outcome: Outcome,
    target: Target | None,
    *,
    backward: bool,
    calls: tuple[str, ...],
) -> Report:
    """The report of one capture; files below the working folder are named from there."""
    from tclab.explain import source

    capture, refusal = outcome.capture, outcome.refusal
    chains, fault = _chains(capture, machine_code=refusal is None)
    note = (target.note,) if target and target.note else ()
    report = Report(
        title=subject.title,
        calls=calls,
        target=target.device if target else "",
        backward=backward,
        remarks=(*subject.remarks, *note, *fault),
        refusal=(refusal.place, refusal.cause, refusal.next_step) if refusal else (),
        summary=summary(capture, len(calls)),
        sources=source.annotated(capture, chains, subject.callable),
        breaks=capture.breaks,
        recompiles=capture.recompiles,
        symbols=capture.symbols,
        guards=capture.guards,
        chains=chains,
        times=capture.times,
        provenance=machine.here(),
    )
    return _near(report)


def _chains(capture: Capture, *, machine_code: bool) -> tuple[tuple[Chain, ...], tuple[str, ...]]:
    """The chains; or none, and a remark: a fault there must not cost the rest of the report."""
    try:
        return capture.chains(machine_code=machine_code), ()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return (), (f"The stages could not be linked, which is a fault of tclab ({what}).",)


def _near(report: Report) -> Report:
    """The report with the working folder left out of every path."""
    folder = scrub(str(Path.cwd() / "x"))[:-1]
    if folder in ("", "/"):
        return report
    text = re.compile(r"(?<![\w.~/-])" + re.escape(folder) + r"(?=[\w.])")
    values = {f.name: encode(getattr(report, f.name)) for f in fields(report)}
    short: Any = scrub_data(values, lambda value: text.sub("", value))
    return Report(**{name: decode(value) for name, value in short.items()})


def summary(capture: Capture, calls: int) -> Table:
    """How much of everything there was."""
    generated = [k for k in capture.kernels if k.category != "extern"]
    skipped = sum(item.skipped for item in capture.breaks)
    rows = (
        ("calls", calls),
        ("graphs of distinct code", capture.breaks.graphs),
        ("graphs with recompiles", len(capture.graphs)),
        ("graph breaks", len(capture.breaks) - skipped),
        ("skipped frames", skipped),
        ("recompiles", len(capture.recompiles)),
        ("guards", sum(len(of) for of in capture.guards)),
        ("generated kernels", len(generated)),
        ("library calls", len(capture.kernels) - len(generated)),
    )
    return Table("Summary", "summary", ("what", "count"), rows)
