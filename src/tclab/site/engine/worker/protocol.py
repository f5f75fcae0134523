"""Define the messages between the runner, the supervisor and a snippet's process. All are JSON.

The runner writes `JobRequest`s to the supervisor, one on each line, and the supervisor answers with
`Message`s. A snippet's process reads its `JobFile` (``job.json``) and leaves an `End`
(``end.json``).
"""

from __future__ import annotations

from typing import Literal, TypedDict

#: The folders of a job in which its processes write.
WRITTEN_FOLDERS = ("work", "tmp", "home", "cache")

Limit = Literal["", "timeout", "memory", "output", "files"]


class JobRequest(TypedDict):
    """A request to run the job in `folder` with `variables`; the value None removes a variable. If
    `cold`, the job runs in a new Python.
    """

    job: int
    folder: str
    timeout: float  # seconds, counted from the snippet's first line
    memory: int  # the most bytes of all processes together, including their files in memory
    output: int  # the most bytes of stdout, and of stderr
    files: int  # the most bytes of the files in its own folders
    number: int  # the most files in these folders
    cold: bool
    variables: dict[str, str | None]


class Ready(TypedDict):
    """The supervisor can start jobs. If it is not warm, `note` says why."""

    event: Literal["ready"]
    seconds: float
    note: str


class Started(TypedDict):
    """A job's process was started."""

    event: Literal["started"]
    job: int


class Ended(TypedDict):
    """A job has ended, and no process that it started is alive.

    `status` is the exit status, negative for a signal, None if unknown. `limit` is the limit that
    the job broke, or ''. `peak` is the peak of the job's memory in bytes.
    """

    event: Literal["ended"]
    job: int
    status: int | None
    limit: Limit
    seconds: float
    peak: int


Message = Ready | Started | Ended


class JobFile(TypedDict):
    """The snippet to run: its file name in tracebacks, the folder from which it imports, its
    source, the error that it should raise, and the dotted name of its runner, or ''.
    """

    file: str
    path: str
    source: str
    raises: str
    runner: str


class ClaimResults(TypedDict):
    """Results by claim: how often the claim was reached, how often its test was true, and why the
    claim is broken.
    """

    reached: dict[str, int]
    passed: dict[str, int]
    broken: dict[str, str]


class Returned(ClaimResults):
    """The file ran to its end."""

    ended: Literal["returned"]


class AsDeclared(ClaimResults):
    """The file raised the error that its header declares."""

    ended: Literal["as declared"]
    raised: str


class Stopped(ClaimResults):
    """The file ended with an undeclared error. `hint` is a next step, or ''."""

    ended: Literal["raised", "assertion", "unsteady", "exit"]
    message: str
    line: int | None
    traceback: str
    hint: str


End = Returned | AsDeclared | Stopped
