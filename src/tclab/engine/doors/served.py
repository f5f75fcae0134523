"""What a client asks of a worker that `serve` started, by Dask.

`has_tree`, `take_tree` and `run_job` are asked for by their names, with bytes and text. So a client
and a worker may have other versions of tclab; a worker's announcement has the protocol it speaks.
"""

from __future__ import annotations

import json
from typing import cast

from tclab.engine.doors import tars
from tclab.engine.doors.box import Box
from tclab.engine.doors.protocol import Answer, JobData

_box: Box | None = None


def use(box: Box | None) -> None:
    """From now on this process's jobs go into `box`."""
    global _box
    _box = box


def has_tree(digest: str, _key: str) -> bool:
    """Whether this worker has a tree."""
    return _box is not None and _box.has(digest)


def take_tree(digest: str, data: bytes, _key: str) -> str:
    """Keep a tree; '' or why that cannot be."""
    if _box is None:
        return "it is no worker of tclab"
    try:
        _box.put(digest, data)
    except (OSError, tars.Unfit) as error:
        return str(error)
    return ""


def run_job(data: bytes, key: str) -> bytes:
    """The answer to a job. It ends once Dask says that nobody waits for it."""
    if _box is None:
        return Answer("refused", "it is no worker of tclab").encoded()
    job = cast(JobData, json.loads(data))
    return _box.run(job, lambda: _is_cancelled(key)).encoded()


def _is_cancelled(key: str) -> bool:
    from distributed import get_worker

    task = get_worker().state.tasks.get(key)
    return task is None or task.state in ("cancelled", "resumed", "released")
