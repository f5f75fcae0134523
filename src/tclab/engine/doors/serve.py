"""`tclab worker`: a worker of a Dask cluster, with what it has, measured."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclab import machine, paths
from tclab.engine.doors import addresses, offers, served
from tclab.engine.doors.box import Box
from tclab.errors import TclabError

_LOOK = 0.2  # seconds between two looks at whether Dask has ended the worker
_GONE = 20.0  # seconds without a scheduler after which a worker ends

#: Dask's own limits of memory are of its process, which holds little; ticks are late on a full CPU.
_SETTINGS = {
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
    "distributed.comm.timeouts.connect": "10s",
}


@dataclass(frozen=True)
class Worker:
    """What a worker is started with."""

    scheduler: str
    pythons: Sequence[str] = ()
    slots: int = 0  # 0: one for each core
    name: str = ""
    insecure: bool = False

    def announced(self) -> offers.Announcement:
        """What this machine has, measured in each environment."""
        with tempfile.TemporaryDirectory(prefix="tclab-worker-") as folder:
            found = [offers.ask(python, Path(folder)) for python in self.environments()]
        return offers.announced(found, self.slots or machine.cores(), self.name)

    def environments(self) -> list[str]:
        """The Pythons, each as a path."""
        return [_python(path) for path in self.pythons] or [sys.executable]

    async def serve(self, offer: offers.Announcement) -> None:
        """Work until the scheduler is gone, or this process is told to end."""
        import dask

        with Box(self.environments(), offer["slots"]) as box:
            served.use(box)
            with dask.config.set(_SETTINGS):
                await _until_told(self._started(box, offer), box, self.scheduler)
        served.use(None)

    def _started(self, box: Box, offer: offers.Announcement) -> Any:
        """Dask's worker, to be awaited."""
        from distributed import Worker as DaskWorker

        addresses.be_quiet()
        secured = addresses.security(self.scheduler)
        return DaskWorker(
            self.scheduler,
            nthreads=offer["slots"] + 2,  # trees are taken beside jobs
            name=offer["name"],
            resources=offers.resources(offer),
            startup_information={"tclab": lambda _: json.dumps(offer)},
            local_directory=str(box.folder / "dask"),
            memory_limit=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",  # Dask's HTTP server is started all the same
            death_timeout=_GONE,
            security=secured,
            protocol="tls" if secured else "tcp",
            host=None if self.insecure or secured else "127.0.0.1",
        )


async def _until_told(worker: Any, box: Box, scheduler: str) -> None:
    """Start it, and close it once it ends by itself or this process is to end."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    try:
        await worker
    except (OSError, TimeoutError, asyncio.TimeoutError, RuntimeError) as error:
        cause, step = f"no scheduler answers there: {error}", "dask scheduler --host 127.0.0.1"
        raise TclabError(scheduler, cause, step) from None
    while worker.status.name in ("running", "paused") and not told.is_set():
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(told.wait(), _LOOK)
    if not told.is_set():
        print(f"{scheduler}: the scheduler is gone, or sent this worker away", file=sys.stderr)
    await loop.run_in_executor(None, box.close)  # so that no job keeps one of Dask's threads
    with contextlib.suppress(Exception):
        await asyncio.wait_for(worker.close(timeout=5), 10)


def _python(path: str) -> str:
    """The Python of an environment: its own path, or that of a folder made by venv."""
    for beneath in ("bin/python", "Scripts/python.exe"):
        if (Path(path) / beneath).is_file():
            return str((Path(path) / beneath).absolute())
    if Path(path).is_file():
        return str(Path(path).absolute())
    raise TclabError(path, "is no environment", "name a venv's folder, or the Python in it")


def main(argv: list[str]) -> int:
    """``python -m tclab.engine.doors.serve ADDRESS``: a worker; the status."""
    parser = argparse.ArgumentParser(prog="tclab worker")
    parser.add_argument("scheduler")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--name", default="")
    parser.add_argument("--insecure", action="store_true")
    options = parser.parse_args(argv)
    words = {name: getattr(options, name) for name in ("scheduler", "slots", "name")}
    try:
        run(Worker(pythons=options.env, insecure=options.insecure, **words))
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run(worker: Worker, on_start: Callable[[offers.Announcement], None] = lambda _: None) -> None:
    """Serve until the end; `on_start` hears what is announced."""
    addresses.check(worker.scheduler, insecure=worker.insecure)
    paths.settle_temporary()
    offer = worker.announced()
    on_start(offer)
    asyncio.run(worker.serve(offer))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
