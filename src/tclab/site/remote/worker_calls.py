"""Define the functions that a client calls on a worker through Dask.

A client calls `has_tree`, `take_tree` and `run_job` by name, and passes only bytes and text. So a
client and a worker may have different versions of tclab; a worker announces its protocol.
"""

from __future__ import annotations

import json
from typing import cast

from tclab.site.remote import tars
from tclab.site.remote.protocol import Answer, JobData
from tclab.site.remote.worker_host import WorkerHost

_host: WorkerHost | None = None


def set_host(host: WorkerHost | None) -> None:
    """Set the host that runs this process's jobs."""
    global _host
    _host = host


def has_tree(digest: str, _key: str) -> bool:
    """Return whether this worker has the tree with this digest."""
    return _host is not None and _host.has_tree(digest)


def take_tree(digest: str, data: bytes, _key: str) -> str:
    """Keep a tree; return '', or the reason why that failed."""
    if _host is None:
        return "it is no worker of tclab"
    try:
        _host.add_tree(digest, data)
    except (OSError, tars.InvalidTar) as error:
        return str(error)
    return ""


def run_job(data: bytes, key: str) -> bytes:
    """Run a job and return the encoded answer. The job ends early if Dask cancels the call."""
    if _host is None:
        return Answer("refused", "it is no worker of tclab").encode()
    job = cast(JobData, json.loads(data))
    return _host.run(job, lambda: _is_cancelled(key)).encode()


def _is_cancelled(key: str) -> bool:
    from distributed import get_worker

    task = get_worker().state.tasks.get(key)
    return task is None or task.state in ("cancelled", "resumed", "released")
