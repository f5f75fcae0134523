"""The watched page: the report, and above it what goes on. It asks its own host, and no other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from tclab.model import Report
from tclab.render import standalone
from tclab.render.escape import esc, join, tag
from tclab.render.options import Options
from tclab.render.report import body, words

_SCRIPT = Path(__file__).with_name("live.js")
_STYLE = Path(__file__).with_name("watch.css")


@dataclass(frozen=True)
class Status:
    """What goes on: `state` is working, done, failed or ended; `version` grows with
    each report, and no other watch begins where this one does.
    """

    state: str
    text: str
    version: int = 0

    def data(self, seconds: float) -> dict[str, object]:
        """For the page's script: it has held for so many seconds."""
        return asdict(self) | {"seconds": round(seconds, 1)}


def html(report: Report | None, status: Status, spec: str) -> str:
    """The page of a report, or of none yet. Without the script it says what was when it was asked
    for, and a reload says what is.
    """
    bar = tag("pre", esc(status.text))
    head = tag(
        "div", bar, class_="watch", role="status", data_state=status.state,
        data_version=status.version,
    )  # fmt: skip
    title = words.title(report) if report else f"{spec}: what torch.compile makes of it"
    inner = (
        body.html(report, Options())
        if report
        else tag("p", esc("The report will be here once it is compiled."))
    )
    script = _SCRIPT.read_text(encoding="utf-8")
    styled = join([standalone.style_element(_STYLE), inner])
    return standalone.page(title, styled, header=head, script=script)
