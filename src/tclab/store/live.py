"""The store: the last good run of every snippet, and beside it the last failed one.

- ``.tclab/runs/<topic>/<snippet>/``: the last run that succeeded
- ``.tclab/failed/<topic>/<snippet>/``: the last run, where it failed
- ``.tclab/locks/``: one file a snippet, held while it runs
- ``.tclab/key``: random bytes, with which values that may be secrets are marked; never published
- ``.tclab/cache/``: objects Inductor and Triton compiled; only saves time
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
from functools import cached_property
from pathlib import Path

from tclab.errors import StoreError
from tclab.model import Provenance, Run, Snippet
from tclab.store import folders, run_files
from tclab.store.rests import Digests
from tclab.store.run_files import Head
from tclab.store.status import State, Status, differences

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: no locks
    fcntl = None  # type: ignore[assignment]


class Store:
    """Runs below one folder. Reading writes nothing but the end of a save that was killed, and the
    store's key.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @classmethod
    def of(cls, root: Path) -> Store:
        """The project's store: ``<root>/.tclab``, or TCLAB_STORE."""
        return cls(Path(os.environ.get("TCLAB_STORE") or Path(root) / ".tclab"))

    @property
    def cache(self) -> Path:
        """Where compiled objects are kept."""
        return self.path / "cache"

    def folder(self, name: str) -> Path:
        """Where the last good run of a snippet lies."""
        return self.path / "runs" / name

    def load(self, snippet: Snippet | str) -> Run | None:
        """The last good run, fresh or not. StoreError where it is damaged."""
        return self._read(self.folder(_name(snippet)), _name(snippet))

    def failed(self, snippet: Snippet | str) -> Run | None:
        """The last run, if it failed."""
        return self._read(self._failed_folder(_name(snippet)), _name(snippet))

    def status(self, snippet: Snippet, here: Provenance, package: Digests) -> Status:
        """How the last good run stands here, under tclab's files of these digests.

        A damaged one is stale: it is made again.
        """
        try:
            head = self._head(snippet.name)
        except StoreError as error:
            return self._not_fresh(snippet, "stale", (error.cause,))
        if head is None:
            return self._not_fresh(snippet, "never", ())
        if why := differences(head.run, snippet, here, package):
            return self._not_fresh(snippet, "stale", why, head)
        return Status(snippet, "here", "fresh", head=head)

    def _not_fresh(
        self, snippet: Snippet, state: State, why: tuple[str, ...], head: Head | None = None
    ) -> Status:
        if (self._failed_folder(snippet.name) / "run.json").exists():
            state = "failed"
        return Status(snippet, "here", state, why, head=head)

    def save(self, run: Run) -> None:
        """Keep `run`; a failed one beside the last good one. StoreError where it cannot be."""
        target = self.folder(run.snippet) if run.ok else self._failed_folder(run.snippet)
        try:
            folders.sweep(target)
            folders.replace(target, lambda folder: run_files.write(run, folder))
            if run.ok:
                self.forget_failure(run.snippet)
        except OSError as error:
            raise self._unwritable(run.snippet, error) from None

    def mark(self, value: str) -> str:
        """What a run keeps of a value that may be a secret: another one has another mark, and
        nobody without this store's key can tell of a guess whether it is the value.
        """
        data = value.encode("utf-8", "surrogateescape")
        return f"hidden {hmac.new(self._key, data, hashlib.sha256).hexdigest()[:8]}"

    @cached_property
    def _key(self) -> bytes:
        """The store's own; one of this process, which makes runs stale, where none can be kept."""
        path, new = self.path / "key", self.path / f".key-{os.getpid()}"
        try:
            if not path.exists() or path.stat().st_size != 32:
                self.path.mkdir(parents=True, exist_ok=True)
                with open(os.open(new, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                    file.write(secrets.token_bytes(32))
                new.replace(path)
            return path.read_bytes()
        except OSError:
            return secrets.token_bytes(32)

    def forget_failure(self, name: str) -> None:
        """The snippet has a good run that is later, or holds again."""
        shutil.rmtree(self._failed_folder(name), ignore_errors=True)

    def _failed_folder(self, name: str) -> Path:
        return self.path / "failed" / name

    def check_writable(self) -> None:
        """StoreError unless the store can be written."""
        probe = self.path / f".probe-{os.getpid()}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"tclab" * 1000)
            probe.unlink()
        except OSError as error:
            raise self._unwritable("any run", error) from None

    def lock(self, name: str) -> Lock | None:
        """The right to run a snippet; None while another process has it."""
        return Lock.take(self.path / "locks" / (name.replace("/", "--") + ".lock"))

    def _head(self, name: str) -> Head | None:
        folder = self.folder(name)
        if not (folder / "run.json").exists() and not self._recovered(folder):
            return None
        return run_files.head(folder, name)

    def _read(self, folder: Path, name: str) -> Run | None:
        if not (folder / "run.json").exists() and not self._recovered(folder):
            return None
        return run_files.read(folder, name)

    @staticmethod
    def _recovered(folder: Path) -> bool:
        try:
            folders.recover(folder)
        except OSError:
            return False
        return (folder / "run.json").exists()

    def _unwritable(self, what: str, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        return StoreError(
            f"the store {self.path.name}/",
            f"cannot keep {what}: {reason}",
            "free some space, make the folder writable, or name another with TCLAB_STORE",
        )


class Lock:
    """A held lock file. Released by `release`, or by the death of this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Lock | None:
        """None while it is held elsewhere. Where nothing can be written nothing is shared."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return cls(-1)
        try:
            if fcntl:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks
            pass
        return cls(descriptor)

    def release(self) -> None:
        """Let others run the snippet."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _name(snippet: Snippet | str) -> str:
    return snippet if isinstance(snippet, str) else snippet.name
