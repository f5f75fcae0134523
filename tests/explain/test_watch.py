"""``tclab explain --watch``: what is watched, what is served, and the whole of it in a browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tclab.cli.explaining.server import Live, Server
from tclab.errors import BadRequest
from tclab.explain import load
from tclab.explain.watch import files
from tclab.explain.watch.files import WatchedFiles

SRC = Path(load.__file__).resolve().parents[2]

# --------------------------------------------------------------------------- files


def later(path: Path, text: str) -> None:
    """Write a file so that its time differs from what it was."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time.time() + 5, time.time() + 5))


def test_a_saved_file_is_told_once(write):
    a, b = str(write("a.py", "1")), str(write("b.py", "1"))
    watched = WatchedFiles()
    watched.add([a, b], since=time.time() + 60)
    assert watched.take_changes() == []
    later(Path(b), "2")
    assert watched.take_changes() == [b] and watched.take_changes() == []


def test_a_file_that_was_saved_while_it_was_read_counts_as_changed(write):
    path = str(write("a.py", "1"))
    watched = WatchedFiles()
    watched.add([path], since=time.time() - 60)
    assert watched.take_changes() == [path] and watched.take_changes() == []


def test_a_file_that_goes_and_comes_is_told(write):
    path = write("a.py", "1")
    watched = WatchedFiles()
    watched.add([str(path)], since=time.time() + 60)
    path.unlink()
    assert watched.take_changes() == [str(path)]
    path.write_text("1")
    assert watched.take_changes() == [str(path)]


def test_of_a_folder_only_new_python_files_count(write, folder):
    write("a.py", "1")
    watched = WatchedFiles()
    watched.add([f"{folder}/"], since=time.time() + 60)
    write("report.html", "x")
    later(folder / "a.py", "2")
    assert watched.take_changes() == []
    write("helper.py", "x")
    assert watched.take_changes() == [f"{folder}/"]


def test_only_the_user_s_own_modules_are_watched(write, folder):
    import torch

    path = write("own_module_x.py", "import helper_x\n")
    helper = write("helper_x.py", "x = 1\n")
    with load.import_module(str(path)):
        found = files.imported_files()
    assert {str(path), str(helper)} <= found
    assert torch.__file__ not in found and os.__file__ not in found and load.__file__ not in found


def test_what_the_compiler_wrote_is_nobody_s_to_edit(write, folder, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder / "cache"))
    own = write("own_module_y.py", "")
    for name in ("torchinductor_reader/fd/cfd.py", "cache/ab/cab.py"):
        assert not files._is_own(str(write(name, "")))
    assert files._is_own(str(own))


@pytest.mark.parametrize("fault", ["x = (\n", "raise ValueError\n", "import no_such_package_x\n"])
def test_a_module_that_cannot_be_imported_is_watched_too(write, fault):
    path, helper = write("m.py", "import bad_helper\n"), write("bad_helper.py", fault)
    with pytest.raises(Exception) as raised, load.import_module(str(path)):
        pass
    assert {str(path), str(helper)} <= files.files_in_error(raised.value)


# --------------------------------------------------------------------------- server


@pytest.fixture
def served() -> Iterator[tuple[Live, Server]]:
    live = Live("m.py:f")
    server = Server(live)
    yield live, server
    server.close()


def get(server: Server, path: str = "/", host: str = "") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.http.server_port, timeout=20)
    connection.request("GET", path, headers={"Host": host} if host else {})
    return connection.getresponse()


def test_it_listens_on_the_loopback_address_only(served):
    _, server = served
    assert server.http.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.http.server_port}/"


def test_a_foreign_name_for_this_machine_is_refused(served):
    _, server = served
    assert get(server).status == 200
    assert get(server, host=f"localhost:{server.http.server_port}").status == 200
    for path in ("/", "/events"):
        assert get(server, path, host="evil.example:80").status == 403
    assert get(server, "/etc/passwd").status == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.1", 200), ("localhost:80", 200), ("localhost.evil", 403),
     ("evil@localhost", 403), ("localhost:80.evil", 403), (":80", 403), ("127.0.0.1:", 403)],
)  # fmt: skip
def test_a_browser_leaves_port_80_out(served, host, status):
    _, server = served
    assert get(server, host=host).status == status


def test_a_browser_that_goes_away_is_no_news(served, capfd):
    live, server = served
    live.update("failed", "x" * 10_000_000)  # more than the kernel keeps for who does not read
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.http.server_port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(10)
            reset = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    deadline = time.monotonic() + 20
    while threading.active_count() > 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert capfd.readouterr().err == ""


def test_the_page_may_ask_its_own_host_and_run_its_own_scripts_only(served):
    live, server = served
    live.update("failed", "m.py:1: <b>no</b>\n  next: </script>")
    html = get(server).read().decode()
    assert "default-src 'none'" in html and "connect-src 'self'" in html
    assert "m.py:1: &lt;b&gt;no&lt;/b&gt;" in html and 'data-state="failed"' in html


def event(response: http.client.HTTPResponse) -> dict[str, object]:
    """Return the next event that says something."""
    while not (line := response.readline().decode()).startswith("data: "):
        assert line
    return json.loads(line.removeprefix("data: "))


def test_changes_are_told_as_they_happen(served, broken):
    live, server = served
    response = get(server, "/events")
    assert response.getheader("Content-Type") == "text/event-stream"
    first = event(response)
    assert first["state"] == "working"
    live.update("working", "compiling f")
    assert event(response)["text"] == "compiling f"
    live.update("done", "made", broken)
    done = event(response)
    assert done["version"] == first["version"] + 1
    live.update("failed", "no")
    assert event(response)["version"] == done["version"]  # the report before stays
    assert "GB0059" in get(server).read().decode()


def test_a_port_that_is_taken_is_named(served):
    _, server = served
    with pytest.raises(BadRequest, match=f"--port {server.http.server_port}: Address already"):
        Server(Live("m.py:f"), server.http.server_port)


# --------------------------------------------------------------------------- in a browser


@pytest.mark.browser
def test_the_browser_shows_errors_and_takes_each_new_report(served, tab, broken, skipped):
    live, server = served
    page = tab()
    page.goto(server.url)
    assert page.locator(".watch").inner_text().startswith("starting")
    live.update("done", "made at 12:00:00", broken)
    page.locator("h1", has_text="f: what").wait_for()
    page.locator("#graph2 > summary").click()
    live.update("failed", "m.py:3: SyntaxError\n  next: correct it")
    page.locator(".watch[data-state=failed]").wait_for()
    assert page.locator(".watch").inner_text() == "m.py:3: SyntaxError\n  next: correct it"
    assert page.locator("h1").inner_text().startswith("f: what")
    live.update("done", "made at 12:00:01", skipped)
    page.locator("h1", has_text="Net: what").wait_for()
    live.update("done", "made at 12:00:02", broken)
    page.locator("h1", has_text="f: what").wait_for()
    page.locator("#graph0[open]").wait_for()


# --------------------------------------------------------------------------- the whole command

MODEL = """\
import helper

def f(x):
    return (x * helper.FACTOR).relu()

def example_inputs():
    import torch
    return (torch.ones(8),)
"""


def _listen_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Command:
    """``tclab explain … --watch``, and what it has said so far."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.log = folder / "log.txt"
        env = os.environ | {"PYTHONPATH": str(SRC), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "tclab", "explain", *words, "--watch"]
        self.process = subprocess.Popen(
            command, env=env, cwd=folder, stdout=self.log.open("w"), stderr=subprocess.STDOUT,
            preexec_fn=_listen_to_ctrl_c)  # fmt: skip  # noqa: PLW1509 - no other thread here

    def wait(self, pattern: str, seconds: float = 300) -> str:
        """What was said, once it has this."""
        end = time.monotonic() + seconds
        while not re.search(pattern, text := self.log.read_text()):
            assert time.monotonic() < end and self.process.poll() is None, text
            time.sleep(0.05)
        return text

    def ended(self) -> int:
        """Ctrl-C, and the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@pytest.fixture
def started(folder: Path) -> Iterator[Callable[..., Command]]:
    commands: list[Command] = []

    def start(*words: str) -> Command:
        commands.append(Command(folder, *words))
        return commands[-1]

    yield start
    for command in commands:
        command.process.kill()


def test_saving_makes_a_new_report_and_an_error_does_not_end_the_watch(started, write, folder):
    write("m.py", MODEL)
    helper = write("helper.py", "FACTOR = 2.0\n")
    command = started("m.py:f")
    text = command.wait(r"wrote m-f\.html")
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/ has the report", text)[1])

    def page() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/")
        return connection.getresponse().read().decode()

    assert "FACTOR == 2.0" in page() and "FACTOR == 2.0" in (folder / "m-f.html").read_text()
    later(helper, "FACTOR = (\n")
    command.wait(r"helper\.py changed\n(.*\n)*error: helper\.py:1: SyntaxError")
    assert "helper.py:1: SyntaxError" in page() and "FACTOR == 2.0" in page()
    later(helper, "import os\nos._exit(7)\n")
    command.wait(r"error: m\.py:f: the process was left with os\._exit\(7\)")
    later(helper, "FACTOR = 3.0\n")
    command.wait(r"(wrote m-f\.html(.*\n)*){2}")
    assert "FACTOR == 3.0" in page()
    assert command.log.read_text().count(" changed\n") == 3  # a change for each that was saved
    assert command.ended() == 0
    assert command.log.read_text().endswith("ended; the last report is in m-f.html\n")
    assert not [p for p in folder.iterdir() if p.suffix not in (".py", ".html", ".txt", "")]


def test_a_wrong_command_line_is_not_watched(started, write):
    write("m.py", MODEL)
    write("helper.py", "FACTOR = 2.0\n")
    command = started("m.py:f", "--option", "mode=fast")
    assert command.process.wait(300) == 2
    assert "--option mode=fast: there is no such mode" in command.log.read_text()


def test_what_goes_on_is_ended_when_a_file_is_saved(started, write):
    path = write("slow.py", "import time\ndef f():\n    print('slow')\n    time.sleep(300)\n")
    command = started("slow.py:f")
    command.wait("slow\n")
    later(path, "def f():\n    print('quick')\n")
    command.wait(r"wrote slow-f\.html")
    assert command.ended() == 0
