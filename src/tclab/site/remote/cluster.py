"""Talk to the workers of a Dask cluster, on other machines or started on this one.

Dask carries bytes to a worker and the answer back, lists the workers, and starts them under Slurm,
Kubernetes and others. Anyone who can send data to Dask can run code, because Dask unpickles what it
receives. So we connect only to 127.0.0.1 or through TLS, unless the user gives --insecure.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from tclab.errors import TclabError
from tclab.site.remote import addresses, worker_calls
from tclab.site.remote.tree import Tree
from tclab.site.remote.workers import ClusterLost, Member

#: Seconds without a heartbeat after which a worker counts as lost. Dask's workers send one every
#: half second, or every few seconds in a cluster of hundreds.
SILENCE_LIMIT = 30.0

_SCHEDULER_SECONDS = 15.0  # time limit for the scheduler to list its workers


# --------------------------------------------------------------------------- the client


class DaskCluster:
    """A Dask cluster, reached through a connected Dask client."""

    silence_limit = SILENCE_LIMIT
    # the module whose functions workers call; a simulated cluster in a test has another one
    module = worker_calls.__name__

    def __init__(self, client: Any, place: str) -> None:
        self.client, self.place = client, place
        self._session = secrets.token_hex(4)
        self._numbers = itertools.count()

    async def members(self) -> list[Member]:
        """Return the connected workers, as the scheduler lists them. Raises ClusterLost if the
        scheduler is gone.
        """
        try:
            info = await asyncio.wait_for(self.client.scheduler.identity(), _SCHEDULER_SECONDS)
        except Exception as error:  # an error of Dask or of the system, or a timeout
            raise self._lost_error() from error
        if self.client.status not in ("running", "connecting"):
            raise self._lost_error()
        return [
            Member(address, _read_announcement(worker), float(worker.get("last_seen") or 0))
            for address, worker in info["workers"].items()
        ]

    def _lost_error(self) -> ClusterLost:
        cause = "the scheduler is gone; every run that had finished is kept"
        step = "start one, and workers, and give the same command again"
        return ClusterLost(self.place, cause, step)

    async def send_tree(self, address: str, tree: Tree) -> None:
        """Send a worker the tree if the worker does not have it. Raises TclabError if the worker
        cannot keep it.
        """
        if not await self._call(address, "has_tree", tree.digest, resources={}):
            words = tree.digest, tree.packed
            why = await self._call(address, "take_tree", *words, resources={})
            if why:
                raise TclabError(address, f"cannot take the project's files: {why}")

    async def send_job(self, address: str, job: bytes, slots: int, cuda: bool) -> bytes:
        """Send a job to a worker and return the encoded answer."""
        resources = {"slots": slots} | ({"cuda": 1} if cuda else {})
        answer = await self._call(address, "run_job", job, resources=resources)
        return bytes(answer)

    async def _call(self, address: str, function: str, *words: object, resources: Any) -> Any:
        """Call a function of `worker_calls` on one worker; cancelling this task cancels the call.

        The worker evaluates a text that names the function. A function object would not do, because
        Dask's scheduler would unpickle it, for which it needs the same version of tclab.
        """
        text = f"__import__({self.module!r}, fromlist=['']).{function}(*words)"
        key = f"tclab-{self._session}-{next(self._numbers)}"
        future = self.client.submit(
            eval,
            text,
            {"words": (*words, key)},
            key=key,
            workers=[address],
            allow_other_workers=False,
            resources=resources or None,
            retries=0,
            pure=False,
        )
        try:
            return await future
        except asyncio.CancelledError:
            if future.status == "cancelled" and not _is_cancelling():
                raise self._lost_error() from None
            raise
        except Exception:
            if future.status in ("cancelled", "lost"):  # Dask lost the connection
                raise self._lost_error() from None
            raise
        finally:
            if future.status != "finished":
                with contextlib.suppress(Exception):
                    await future.cancel()


def _is_cancelling() -> bool:
    """Return whether this task was cancelled, and not only the future that it waits for."""
    task = asyncio.current_task()
    return task is not None and getattr(task, "cancelling", lambda: 1)() > 0


def _read_announcement(worker: dict[str, Any]) -> dict[str, Any]:
    """Return the announcement of a worker; only its name if `tclab worker` did not start it."""
    text = worker.get("tclab")
    announcement = json.loads(text) if isinstance(text, str) else {}
    return {"name": str(worker.get("name", "")), **announcement}


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[DaskCluster]:
    """Connect to the cluster at this address. Raises TclabError if no scheduler answers."""
    import dask
    import distributed

    settings = {
        "distributed.logging.distributed": "error",
        "distributed.comm.timeouts.connect": "10s",
    }
    with dask.config.set(settings):
        addresses.silence_dask()
        try:
            client = await distributed.Client(
                address,
                asynchronous=True,
                security=addresses.tls_settings(address),
                set_as_default=False,
            )
        except (OSError, TimeoutError, asyncio.TimeoutError) as error:
            cause = f"no scheduler answers there: {error}".splitlines()[0]
            step = "start one: dask scheduler --host 127.0.0.1; or take local:4"
            raise TclabError(address, cause, step) from None
        try:
            yield DaskCluster(client, address)
        finally:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(timeout=5), 10)


# --------------------------------------------------------------------------- local workers


@asynccontextmanager
async def start_local(number: int) -> AsyncIterator[DaskCluster]:
    """Start a cluster of `number` workers on this machine; the workers end when the block ends."""
    import distributed

    addresses.silence_dask()
    cluster: Any = await distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        asynchronous=True,
        silence_logs=50,
    )
    try:
        address = str(cluster.scheduler_address)
        with _worker_processes(address, number):
            async with connect(address) as dask:
                await _wait_for_workers(dask, number)
                yield dask
    finally:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(cluster.close(), 10)


@contextmanager
def _worker_processes(address: str, number: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tclab.site.remote.worker", address, "--slots", "1"]
    env = _worker_variables()
    processes = [
        subprocess.Popen([*command, "--name", f"local-{n}"], start_new_session=True, env=env)
        for n in range(1, number + 1)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _worker_variables() -> dict[str, str]:
    from tclab.site.engine import variables

    return {**os.environ, "PYTHONPATH": variables._python_path(os.environ)}


async def _wait_for_workers(dask: DaskCluster, number: int, seconds: float = 90.0) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while len(await dask.members()) < number:
        if asyncio.get_running_loop().time() > deadline:
            cause = f"its {number} workers did not come"
            raise TclabError(dask.place, cause, "look at what they say")
        await asyncio.sleep(0.05)
