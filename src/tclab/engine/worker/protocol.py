"""What passes between the runner, the supervisor and a snippet's process. All of it is JSON.

The runner writes a `JobRequest` a line to the supervisor, which writes a `Message` a line back. A
snippet's process reads its `JobFile` (``job.json``) and leaves an `End` (``end.json``).
"""

from __future__ import annotations

from typing import Literal, TypedDict

Limit = Literal["", "timeout", "memory", "output", "files"]


class JobRequest(TypedDict):
    """Run the job in `folder`. `cold`: in a new Python, with `variables` (None: not set)."""

    job: int
    folder: str
    timeout: float  # seconds, from the snippet's first line on
    memory: int  # bytes of all its processes together
    output: int  # bytes of stdout, and of stderr
    files: int  # bytes of the files in its own folders
    cold: bool
    variables: dict[str, str | None]


class Ready(TypedDict):
    """The supervisor can start jobs. `note` says why it is not warm, where it is not."""

    event: Literal["ready"]
    seconds: float
    note: str


class Started(TypedDict):
    """A job's process was started."""

    event: Literal["started"]
    job: int


class Ended(TypedDict):
    """A job is over, and nothing that it started lives.

    `status` is the exit status, negative for a signal, None where nobody saw how it ended;
    `limit` the limit it broke; `peak` bytes.
    """

    event: Literal["ended"]
    job: int
    status: int | None
    limit: Limit
    seconds: float
    peak: int


Message = Ready | Started | Ended


class JobFile(TypedDict):
    """The snippet to run: its file as it is told, the folder it imports from, its source; the
    dotted name of a function that executes it, or ''.
    """

    file: str
    path: str
    source: str
    raises: str
    runner: str


class Noted(TypedDict):
    """Of the claims that were made: how often each was reached, what those said that failed."""

    reached: dict[str, int]
    broken: dict[str, str]


class Returned(Noted):
    """The file came to its end."""

    ended: Literal["returned"]


class AsDeclared(Noted):
    """It raised the error its header declares."""

    ended: Literal["as declared"]
    raised: str


class Stopped(Noted):
    """It ended with an error that nobody declared. `hint` is a next step, where there is one."""

    ended: Literal["raised", "assertion", "exit"]
    message: str
    line: int | None
    traceback: str
    hint: str


End = Returned | AsDeclared | Stopped
