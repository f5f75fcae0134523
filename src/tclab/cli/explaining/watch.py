"""Implement ``tclab explain --watch``: show the report in a browser, and renew it when a file is
saved.
"""

from __future__ import annotations

import os
import time
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tclab.cli import report_file, terminal
from tclab.cli.explaining.server import Live, Server
from tclab.cli.explaining.summary import print_summary, print_warnings
from tclab.explain import ExplainRequest, Report, Step
from tclab.explain.options import BadOption
from tclab.explain.watch import loop
from tclab.explain.watch.attempt import Done, Failed
from tclab.explain.watch.loop import Changed, Event
from tclab.system import machine


def watch(request: ExplainRequest, path: Path, *, port: int, open_: bool) -> None:
    """Serve and explain until Ctrl-C. Raises BadRequest if the command line is wrong."""
    machine.require_process_control("tclab explain --watch")
    live, out = Live(request.spec), terminal.console()
    server = Server(live, port)
    try:
        out.print(f"[bold]{server.url}[/] has the report. Ctrl-C ends it.", soft_wrap=True)
        if open_:
            webbrowser.open(server.url)
        loop.forever(request, _Events(live, path, out))
    except KeyboardInterrupt:
        live.update("ended", "tclab explain --watch has ended; this is its last report.")
        last = f"; the last report is in {path}" if live.report else ""
        out.print(f"ended{escape(last)}", soft_wrap=True)
    finally:
        server.close()


@dataclass
class _Events:
    """Prints each event, and updates the page."""

    live: Live
    path: Path
    out: Console

    def __call__(self, event: Event) -> None:
        """Handle one event."""
        if isinstance(event, Step):
            self.live.update("working", str(event))
        elif isinstance(event, Done):
            self._print_done(event.report)
        elif isinstance(event, Failed):
            self._print_failure(event)
        elif isinstance(event, Changed):
            self._print_change(event)

    def _print_done(self, report: Report) -> None:
        report_file.write(report, self.path, "html")
        self.live.update("done", f"made at {time.strftime('%H:%M:%S')}", report)
        print_summary(report, self.path)

    def _print_failure(self, event: Failed) -> None:
        if isinstance(event.error, BadOption) and self.live.report is None:
            raise event.error  # editing a file cannot fix the command line
        self.live.update("failed", str(event.error))
        terminal.print_error(event.error)
        print_warnings(event.warnings)

    def _print_change(self, event: Changed) -> None:
        names = ", ".join(sorted({os.path.relpath(path) for path in event.paths}))
        self.out.print(f"\n[dim]{time.strftime('%H:%M:%S')}[/] {escape(names)} changed")
        self.live.update("working", "importing")
