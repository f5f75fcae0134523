"""The door that is Dask: a cluster's scheduler, its workers, and `tclab worker`.

Dask brings the bytes to a worker and the answer back, knows who is there, and starts workers under
Slurm, Kubernetes and others. To read what it sends is to run it: so a scheduler is reached on
127.0.0.1, or through TLS, unless one types --insecure.
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

from tclab.engine.doors import addresses, served
from tclab.engine.doors.seats import ClusterLost, Member
from tclab.engine.doors.tree import Tree
from tclab.errors import TclabError

#: Seconds after which a worker that says nothing counts as lost. Dask's workers say something every
#: half second, every few seconds where there are hundreds.
SILENCE = 30.0

_ANSWER = 15.0  # seconds a scheduler gets to say who is there


# --------------------------------------------------------------------------- the client


class Dask:
    """A cluster that a client of Dask's reaches."""

    silence = SILENCE
    asked = served.__name__  # whose functions the workers run; a simulation's have others

    def __init__(self, client: Any, place: str) -> None:
        self.client, self.place = client, place
        self._session = secrets.token_hex(4)
        self._numbers = itertools.count()

    async def members(self) -> list[Member]:
        """Who is there, as the scheduler says."""
        try:
            info = await asyncio.wait_for(self.client.scheduler.identity(), _ANSWER)
        except Exception as error:  # Dask's own, the system's, and those of time
            raise self._gone() from error
        if self.client.status not in ("running", "connecting"):
            raise self._gone()
        return [
            Member(address, _offer(worker), float(worker.get("last_seen") or 0))
            for address, worker in info["workers"].items()
        ]

    def _gone(self) -> ClusterLost:
        cause = "the scheduler is gone; every run that had finished is kept"
        step = "start one, and workers, and give the same command again"
        return ClusterLost(self.place, cause, step)

    async def give(self, address: str, tree: Tree) -> None:
        """Ask whether a worker has the tree; send it where it has not."""
        if not await self._call(address, "has_tree", tree.digest, resources={}):
            words = tree.digest, tree.packed
            why = await self._call(address, "take_tree", *words, resources={})
            if why:
                raise TclabError(address, f"cannot take the project's files: {why}")

    async def send(self, address: str, job: bytes, slots: int, cuda: bool) -> bytes:
        """A job's answer."""
        resources = {"slots": slots} | ({"cuda": 1} if cuda else {})
        answer = await self._call(address, "run_job", job, resources=resources)
        return bytes(answer)

    async def _call(self, address: str, function: str, *words: object, resources: Any) -> Any:
        """What a function of `served` returns on one worker. To cancel this is to cancel that.

        It is named in a text, which the worker evaluates: Dask's scheduler reads what a client
        sends, and would have to import a function of tclab's, of the same version.
        """
        text = f"__import__({self.asked!r}, fromlist=['']).{function}(*words)"
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
            if future.status == "cancelled" and not _cancelling():
                raise self._gone() from None
            raise
        except Exception:
            if future.status in ("cancelled", "lost"):  # by Dask, with its client's connection
                raise self._gone() from None
            raise
        finally:
            if future.status != "finished":
                with contextlib.suppress(Exception):
                    await future.cancel()


def _cancelling() -> bool:
    """Whether this task was told to end, rather than the future that it waits for."""
    task = asyncio.current_task()
    return task is not None and getattr(task, "cancelling", lambda: 1)() > 0


def _offer(worker: dict[str, Any]) -> dict[str, Any]:
    """What a worker announced; of one that is not `tclab worker`'s, nothing."""
    text = worker.get("tclab")
    offer = json.loads(text) if isinstance(text, str) else {}
    return {"name": str(worker.get("name", "")), **offer}


@asynccontextmanager
async def reached(address: str) -> AsyncIterator[Dask]:
    """A client of the cluster at this address."""
    import dask
    import distributed

    quiet = {"distributed.logging.distributed": "error", "distributed.comm.timeouts.connect": "10s"}
    with dask.config.set(quiet):
        addresses.be_quiet()
        try:
            client = await distributed.Client(
                address,
                asynchronous=True,
                security=addresses.security(address),
                set_as_default=False,
            )
        except (OSError, TimeoutError, asyncio.TimeoutError) as error:
            cause = f"no scheduler answers there: {error}".splitlines()[0]
            step = "start one: dask scheduler --host 127.0.0.1; or take local:4"
            raise TclabError(address, cause, step) from None
        try:
            yield Dask(client, address)
        finally:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(timeout=5), 10)


# --------------------------------------------------------------------------- workers here


@asynccontextmanager
async def local(number: int) -> AsyncIterator[Dask]:
    """A cluster of `number` workers on this machine, which end with it."""
    import distributed

    addresses.be_quiet()
    cluster: Any = await distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        asynchronous=True,
        silence_logs=50,
    )
    try:
        address = str(cluster.scheduler_address)
        with _workers(address, number):
            async with reached(address) as dask:
                await _wait_for(dask, number)
                yield dask
    finally:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(cluster.close(), 10)


@contextmanager
def _workers(address: str, number: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tclab.engine.doors.serve", address, "--slots", "1"]
    started = [
        subprocess.Popen([*command, "--name", f"local-{n}"], start_new_session=True, env=_env())
        for n in range(1, number + 1)
    ]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _env() -> dict[str, str]:
    from tclab.engine import variables

    return {**os.environ, "PYTHONPATH": variables._python_path(os.environ)}


async def _wait_for(dask: Dask, number: int, seconds: float = 90.0) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while len(await dask.members()) < number:
        if asyncio.get_running_loop().time() > deadline:
            cause = f"its {number} workers did not come"
            raise TclabError(dask.place, cause, "look at what they say")
        await asyncio.sleep(0.05)
