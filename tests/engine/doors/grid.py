"""Start a Dask cluster of processes on this machine: a scheduler, and workers with given
properties.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

SRC = Path(__file__).resolve().parents[3] / "src"

#: A scheduler that has no tclab: it, too, reads the messages of clients.
SCHEDULER = """
import asyncio, sys
sys.modules["tclab"] = None
import distributed
async def main():
    scheduler = await distributed.Scheduler(
        host="127.0.0.1", port=0, dashboard=False, protocol=sys.argv[1]
    )
    print(scheduler.address, flush=True)
    await scheduler.finished()
asyncio.run(main())
"""

#: A worker whose tclab speaks another protocol.
OTHER = """
import sys
from tclab.site.remote import announcements, worker
announcements.PROTOCOL = 99
sys.exit(worker.main(sys.argv[1:]))
"""


def environment(folder: Path, torch: str, cuda: str = "", gpu: str = "") -> Path:
    """Make a Python whose PyTorch claims this version, and a GPU of this name."""
    package = folder / "packages/torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    version = f"__version__ = '{torch}'\ngit_version = 'abc'\n"
    (package / "version.py").write_text(version + (f"cuda = '{cuda}'\n" if cuda else ""))
    bin_ = folder / "bin"
    bin_.mkdir()
    if gpu:
        _script(bin_ / "nvidia-smi", f"echo '{gpu}, 580.1'")
    path = f"PATH={bin_}:$PATH PYTHONPATH=$PYTHONPATH:{package.parent}"
    _script(bin_ / "python", f'{path} exec {sys.executable} "$@"')
    return bin_ / "python"


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


class Grid:
    """A scheduler and its workers, by name. All end with the block."""

    def __init__(self, folder: Path, protocol: str = "tcp") -> None:
        self.folder = folder
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._scheduler = subprocess.Popen(
            [sys.executable, "-c", SCHEDULER, protocol],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._scheduler.stdout is not None
        self.address = self._scheduler.stdout.readline().decode().strip()

    def worker(self, name: str, *words: str, code: str = "", prefix=(), **variables: str) -> None:
        """Start a worker."""
        module = ["-c", code] if code else ["-m", "tclab.site.remote.worker"]
        command = [*prefix, sys.executable, *module, self.address, "--name", name, "--slots", "1"]
        env = {**os.environ, "PYTHONPATH": str(SRC), "TMPDIR": str(self._tmp(name)), **variables}
        with open(self.folder / f"{name}.log", "wb") as log:
            self.workers[name] = subprocess.Popen(
                [*command, *words], env=env, stdout=log, stderr=log, start_new_session=True
            )

    def _tmp(self, name: str) -> Path:
        """Return the folder for all files of a worker, in which leftovers can be found."""
        folder = self.folder / f"tmp-{name}"
        folder.mkdir(exist_ok=True)
        return folder

    def left(self, name: str) -> list[str]:
        """Return the files that a worker left; PyTorch's headers, precompiled for all, may stay."""
        names = {path.name for path in self._tmp(name).iterdir()}
        return sorted(name for name in names if not name.startswith("torchinductor_"))

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until all workers are connected."""
        import asyncio

        from tclab.site.remote import cluster

        async def there() -> int:
            async with cluster.connect(self.address) as dask:
                deadline = time.monotonic() + seconds
                number = 0
                while number < len(self.workers) and time.monotonic() < deadline:
                    number = len(await dask.members())
                    await asyncio.sleep(0.05)
                return number

        logs = {name: (self.folder / f"{name}.log").read_text() for name in self.workers}
        assert asyncio.run(there()) == len(self.workers), logs

    def kill_scheduler(self) -> None:
        self._scheduler.kill()
        self._scheduler.wait()

    def close(self) -> None:
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.kill_scheduler()


@contextmanager
def started(folder: Path, protocol: str = "tcp"):
    """Start a cluster without workers."""
    grid = Grid(folder, protocol)
    try:
        yield grid
    finally:
        grid.close()


def certificates(folder: Path) -> dict[str, str]:
    """Make a certificate that signs itself, and the variables by which Dask finds it."""
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=tclab", "-keyout", key, "-out", cert]
    subprocess.run(made, check=True, capture_output=True)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    each = {f"{tls}{role}__{what}": path for role in ("SCHEDULER", "WORKER", "CLIENT")
            for what, path in (("KEY", key), ("CERT", cert))}  # fmt: skip
    return {f"{tls}CA_FILE": cert, **each}


def alive(pid: int) -> bool:
    """Return whether a process runs, or has not yet been waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
