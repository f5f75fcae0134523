"""Serve the watched page on this machine only."""

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

#: The Host headers that name this machine. A browser omits port 80.
_LOCAL_HOST = re.compile(rf"(?:{re.escape(LOOPBACK)}|localhost)(?::\d+)?")
#: Seconds without a change after which the server sends a ping, which fails if the page was closed.
_PING_SECONDS = 10.0


class Live:
    """The state of the page. `update` changes it and wakes the threads that wait for a change."""

    def __init__(self, spec: str) -> None:
        self.spec, self.report = spec, None
        self.status, self.since = Status("working", "starting", int(time.time())), time.monotonic()
        self.changed = threading.Condition()
        self.count = 0  # the number of changes

    report: Report | None

    def update(self, state: str, text: str, report: Report | None = None) -> None:
        """Set a new status and, if given, a new report."""
        with self.changed:
            self.report = report or self.report
            self.status = Status(state, text, self.status.version + bool(report))
            self.since = time.monotonic()
            self.count += 1
            self.changed.notify_all()

    def html(self) -> str:
        """Return the HTML of the page in its current state."""
        with self.changed:
            report, status = self.report, self.status
        return _page.html(report, status, self.spec)

    def wait_for_change(self, count: int) -> tuple[int, str]:
        """Wait until there are more than `count` changes. Return the number of changes and the
        status as JSON; the status is '' if nothing changes for some seconds.
        """
        with self.changed:
            if not self.changed.wait_for(lambda: self.count > count, _PING_SECONDS):
                return count, ""
            seconds = time.monotonic() - self.since
            return self.count, json.dumps(self.status.data(seconds))


class _ThreadingServer(ThreadingHTTPServer):
    """Handles each request in a thread."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a connection that the browser closed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Server:
    """Serves a `Live` page on the loopback address, in its own threads, until `close`."""

    def __init__(self, live: Live, port: int = 0) -> None:
        try:
            self.http = _ThreadingServer((LOOPBACK, port), _make_handler(live))
        except OSError as error:
            step = "choose another with --port, or leave it out"
            raise BadRequest(f"--port {port}", f"{error.strerror}", step) from None
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.http.server_port}/"

    def close(self) -> None:
        """Stop accepting requests."""
        self.http.shutdown()
        self.http.server_close()


def _make_handler(live: Live) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(_Handler):
        page = live

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    page: Live

    def do_GET(self) -> None:
        """Send the page or the stream of its changes."""
        path = self.path.partition("?")[0]
        if not self._is_local_host():
            self.send_error(403, "only for this machine")
        elif path == "/":
            self._send_page()
        elif path == "/events":
            self._send_events()
        else:
            self.send_error(404)

    def _is_local_host(self) -> bool:
        """Return whether the request's Host header names this machine. Another name that resolves
        to this machine would let a foreign page read the user's code.
        """
        return _LOCAL_HOST.fullmatch(self.headers.get("Host", "")) is not None

    def _send_page(self) -> None:
        content = self.page.html().encode("utf-8", "backslashreplace")
        self._send_head("text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_events(self) -> None:
        """Send each change of the status as a server-sent event until the browser disconnects."""
        self._send_head("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        count = -1
        try:
            while True:
                count, data = self.page.wait_for_change(count)
                self.wfile.write(f"data: {data}\n\n".encode() if data else b": still here\n\n")
        except OSError:  # the browser disconnected
            self.close_connection = True

    def _send_head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")

    def log_request(self, *_: object) -> None:
        """Discard the message, because the server logs nothing."""

    def log_error(self, *_: object) -> None:
        """Discard the message, because the server logs nothing."""
