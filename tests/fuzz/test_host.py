"""The watched page under any Host: it is shown to this machine's names alone."""

from __future__ import annotations

import http.client

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tclab.cli.explaining.server import LOOPBACK, Live, Server

PIECES = [
    "localhost", "127.0.0.1", "LOCALHOST", "127.1", "[::1]", "0.0.0.0", "evil.example",
    ":", ":80", ".", "@", "/", "#", "?", " ", ",", "\t", "-", "%", "é",
]  # fmt: skip
HOSTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(max_codepoint=255), max_size=3),
                 max_size=5).map("".join)  # fmt: skip


@pytest.fixture(scope="module")
def server():
    served = Server(Live("f.py:f"))
    yield served
    served.close()


def status(server: Server, host: str) -> int | None:
    """Return the server's status; None for a line that no client sends."""
    connection = http.client.HTTPConnection(LOOPBACK, server.http.server_port, timeout=10)
    try:
        connection.putrequest("GET", "/", skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        return connection.getresponse().status
    except (ValueError, UnicodeEncodeError):
        return None
    finally:
        connection.close()


@given(HOSTS)
@example("localhost.evil.example:80")
@example("evil.example#localhost:80")
@example("localhost@evil.example:80")
def test_another_name_is_refused(server, host):
    answer = status(server, host)
    name = host.strip().partition(":")[0]
    assert answer in (None, 403, 400) or (answer == 200 and name in (LOOPBACK, "localhost"))


def test_its_own_names_are_not(server):
    port = server.http.server_port
    assert [status(server, f"{name}:{port}") for name in (LOOPBACK, "localhost")] == [200, 200]
