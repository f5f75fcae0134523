"""Run a worker of a Dask cluster that announces its resources (``tclab worker``)."""

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

from tclab.errors import TclabError
from tclab.site.remote import addresses, announcements, worker_calls
from tclab.site.remote.worker_host import WorkerHost
from tclab.system import machine, paths

_POLL_SECONDS = 0.2  # seconds between two checks of whether Dask has ended the worker
_SCHEDULER_SECONDS = 20.0  # seconds without a scheduler, after which a worker ends

#: Dask's memory limit is switched off, because it measures only Dask's own small process. So are
#: its warnings of late ticks, which a fully used CPU causes.
_SETTINGS = {
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
    "distributed.comm.timeouts.connect": "10s",
}


@dataclass(frozen=True)
class Worker:
    """The options of a worker."""

    scheduler: str
    pythons: Sequence[str] = ()
    slots: int = 0  # 0 means one for each core
    name: str = ""
    insecure: bool = False

    def announce(self) -> announcements.Announcement:
        """Measure each environment; return the announcement. Raises TclabError if an environment
        cannot be used.
        """
        with tempfile.TemporaryDirectory(prefix="tclab-worker-") as folder:
            measured = [
                announcements.measure_environment(each, Path(folder))
                for each in self.find_pythons()
            ]
        return announcements.announce(measured, self.slots or machine.count_cores(), self.name)

    def find_pythons(self) -> list[str]:
        """Return the path of each environment's Python; by default the Python that runs this
        process.
        """
        return [_find_python(path) for path in self.pythons] or [sys.executable]

    async def serve(self, announcement: announcements.Announcement) -> None:
        """Run jobs until the scheduler is gone or this process gets a signal to end."""
        import dask

        with WorkerHost(self.find_pythons(), announcement["slots"]) as host:
            worker_calls.set_host(host)
            with dask.config.set(_SETTINGS):
                await _run_until_stopped(
                    self._make_dask_worker(host, announcement), host, self.scheduler
                )
        worker_calls.set_host(None)

    def _make_dask_worker(self, host: WorkerHost, announcement: announcements.Announcement) -> Any:
        """Return a Dask worker that starts when it is awaited."""
        from distributed import Worker as DaskWorker

        addresses.silence_dask()
        secured = addresses.tls_settings(self.scheduler)
        return DaskWorker(
            self.scheduler,
            # two more threads, so that trees can arrive while jobs run
            nthreads=announcement["slots"] + 2,
            name=announcement["name"],
            resources=announcements.dask_resources(announcement),
            startup_information={"tclab": lambda _: json.dumps(announcement)},
            local_directory=str(host.folder / "dask"),
            memory_limit=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",  # Dask starts its HTTP server even without a dashboard
            death_timeout=_SCHEDULER_SECONDS,
            security=secured,
            protocol="tls" if secured else "tcp",
            host=None if self.insecure or secured else "127.0.0.1",
        )


async def _run_until_stopped(worker: Any, host: WorkerHost, scheduler: str) -> None:
    """Run a Dask worker; close it when it stops, or when a signal asks this process to end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await worker
    except (OSError, TimeoutError, asyncio.TimeoutError, RuntimeError) as error:
        cause, step = f"no scheduler answers there: {error}", "dask scheduler --host 127.0.0.1"
        raise TclabError(scheduler, cause, step) from None
    while worker.status.name in ("running", "paused") and not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(stop.wait(), _POLL_SECONDS)
    if not stop.is_set():
        print(f"{scheduler}: the scheduler is gone, or sent this worker away", file=sys.stderr)
    # close the host first, because a running job keeps one of Dask's threads
    await loop.run_in_executor(None, host.close)
    with contextlib.suppress(Exception):
        await asyncio.wait_for(worker.close(timeout=5), 10)


def _find_python(path: str) -> str:
    """Return the Python at this path, or in the venv at this path. Raises TclabError if there is
    none.
    """
    for name in ("bin/python", "Scripts/python.exe"):
        if (Path(path) / name).is_file():
            return str((Path(path) / name).absolute())
    if Path(path).is_file():
        return str(Path(path).absolute())
    raise TclabError(path, "is no environment", "name a venv's folder, or the Python in it")


def main(argv: list[str]) -> int:
    """Run a worker for ``python -m tclab.site.remote.worker ADDRESS``; return the exit status."""
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


def run(
    worker: Worker, on_start: Callable[[announcements.Announcement], None] = lambda _: None
) -> None:
    """Run a worker until it ends; `on_start` is called with its announcement."""
    addresses.check_address(worker.scheduler, insecure=worker.insecure)
    paths.set_temporary_folder()
    announcement = worker.announce()
    on_start(announcement)
    asyncio.run(worker.serve(announcement))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
