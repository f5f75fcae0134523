"""Render the watched page: the report below the current status. The page requests data from its own
host only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.resources import files

from tclab.model import Report
from tclab.render import standalone
from tclab.render.escape import esc, join, tag
from tclab.render.options import Options
from tclab.render.report import body, words

_SCRIPT = files(__package__) / "live.js"
_STYLE = files(__package__) / "watch.css"


@dataclass(frozen=True)
class Status:
    """The current status: `state` is working, done, failed or ended. `version` grows with each
    report and starts at a different number in each watch.
    """

    state: str
    text: str
    version: int = 0

    def data(self, seconds: float) -> dict[str, object]:
        """Return the status, which has lasted for `seconds`, for the page's script."""
        return asdict(self) | {"seconds": round(seconds, 1)}


def html(report: Report | None, status: Status, spec: str) -> str:
    """Return the page with a report, or without one if there is none yet. Without JavaScript the
    page shows the status at the time of the request, and a reload updates it.
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
