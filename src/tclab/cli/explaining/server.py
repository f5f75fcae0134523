"""The watched page, served to this machine alone."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tclab.cli.explaining import page as _page
from tclab.cli.explaining.page import Status
from tclab.errors import BadRequest
from tclab.model import Report

LOOPBACK = "127.0.0.1"

#: A browser leaves the port out where it is 80.
_OURS = re.compile(rf"(?:{re.escape(LOOPBACK)}|localhost)(?::\d+)?")
#: After so many seconds without news a page is sent a sign of life; a closed one is noticed then.
_STILL_THERE = 10.0


class Live:
    """What the page shows; `update` changes it, and whoever waits for a change gets it."""

    def __init__(self, spec: str) -> None:
        self.spec, self.report = spec, None
        self.status, self.since = Status("working", "starting", int(time.time())), time.monotonic()
        self.changed = threading.Condition()
        self.count = 0  # of changes

    report: Report | None

    def update(self, state: str, text: str, report: Report | None = None) -> None:
        """There is a new state, and perhaps a new report."""
        with self.changed:
            self.report = report or self.report
            self.status = Status(state, text, self.status.version + bool(report))
            self.since = time.monotonic()
            self.count += 1
            self.changed.notify_all()

    def html(self) -> str:
        """The page as it is now."""
        with self.changed:
            report, status = self.report, self.status
        return _page.html(report, status, self.spec)

    def after(self, count: int) -> tuple[int, str]:
        """Wait for a change after the first `count`: how many there were, and what is now as
        JSON; '' if nothing changes for some seconds.
        """
        with self.changed:
            if not self.changed.wait_for(lambda: self.count > count, _STILL_THERE):
                return count, ""
            seconds = time.monotonic() - self.since
            return self.count, json.dumps(self.status.data(seconds))


class _Http(ThreadingHTTPServer):
    """Each request has a thread."""

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Server:
    """Serves a `Live` page on the loopback address, in threads of its own, until `close`."""

    def __init__(self, live: Live, port: int = 0) -> None:
        try:
            self.http = _Http((LOOPBACK, port), _handler(live))
        except OSError as error:
            step = "choose another with --port, or leave it out"
            raise BadRequest(f"--port {port}", f"{error.strerror}", step) from None
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.http.server_port}/"

    def close(self) -> None:
        """Take no more requests."""
        self.http.shutdown()
        self.http.server_close()


def _handler(live: Live) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(_Handler):
        page = live

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    page: Live

    def do_GET(self) -> None:
        """The page, or what happens to it."""
        path = self.path.partition("?")[0]
        if not self._is_ours():
            self.send_error(403, "only for this machine")
        elif path == "/":
            self._send_page()
        elif path == "/events":
            self._send_events()
        else:
            self.send_error(404)

    def _is_ours(self) -> bool:
        """Whether the browser knows the page by a name of this machine. Another name that was made
        to lead here would let a foreign page read the user's code.
        """
        return _OURS.fullmatch(self.headers.get("Host", "")) is not None

    def _send_page(self) -> None:
        content = self.page.html().encode("utf-8", "backslashreplace")
        self._head("text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_events(self) -> None:
        """Server-sent events: each change of the status, until the browser goes away."""
        self._head("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        count = -1
        try:
            while True:
                count, data = self.page.after(count)
                self.wfile.write(f"data: {data}\n\n".encode() if data else b": still here\n\n")
        except OSError:  # it went away
            self.close_connection = True

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")

    def log_request(self, *_: object) -> None:
        """Requests are no news."""

    def log_error(self, *_: object) -> None:
        """Nor is what is not served."""
