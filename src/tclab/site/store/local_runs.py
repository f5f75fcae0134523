"""Define the store of this machine, with the last successful run of each snippet, and a later
failed run if there is one.

Saving a successful run removes the failed one. While everything that the failed run depends on is
unchanged, the successful run is not fresh.

- ``.tclab/runs/<topic>/<snippet>/``: the last run that succeeded
- ``.tclab/failed/<topic>/<snippet>/``: the last run, if it failed
- ``.tclab/revoked/<digest>/``: the failed run that revoked the recording of this digest
- ``.tclab/locks/``: a file for each snippet, locked while it runs
- ``.tclab/key``: random bytes, the key of the digests that replace possible secrets; not published
- ``.tclab/cache/``: objects that Inductor and Triton compiled
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
from tclab.site.store import folders, run_files
from tclab.site.store.dependencies import Digests
from tclab.site.store.run_files import Head
from tclab.site.store.status import State, Status, differences, still_fails

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: no locks
    fcntl = None  # type: ignore[assignment]


class Store:
    """The runs kept below one folder. A read also completes a save that was killed; otherwise it
    writes at most the store's key.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @classmethod
    def of_project(cls, root: Path) -> Store:
        """Return the store of a project: ``<root>/.tclab``, or the folder that TCLAB_STORE
        names.
        """
        return cls(Path(os.environ.get("TCLAB_STORE") or Path(root) / ".tclab"))

    @property
    def cache(self) -> Path:
        """The folder of compiled objects."""
        return self.path / "cache"

    def folder(self, name: str) -> Path:
        """Return the folder of the last successful run of a snippet."""
        return self.path / "runs" / name

    def load(self, snippet: Snippet | str) -> Run | None:
        """Return the last successful run, fresh or not. Raises StoreError if it is damaged."""
        return self._read(self.folder(_name(snippet)), _name(snippet))

    def load_failed(self, snippet: Snippet | str) -> Run | None:
        """Return the last run, if it failed."""
        return self._read(self._failed_folder(_name(snippet)), _name(snippet))

    def status(self, snippet: Snippet, here: Provenance, package: Digests) -> Status:
        """Return the status of the last successful run. `here` is the provenance that a run made
        now would have, and `package` has the digests of tclab's files.

        A damaged run is stale: the snippet runs again.
        """
        try:
            head = self._read_head(self.folder(snippet.name), snippet.name)
        except StoreError as error:
            return self._not_fresh(snippet, "stale", (error.cause,))
        if head is None:
            return self._not_fresh(snippet, "never", ())
        if why := differences(head.run, snippet, here, package):
            return self._not_fresh(snippet, "stale", why, head)
        if self._failed_since(snippet, here, package):
            return Status(snippet, "here", "failed", head=head)
        return Status(snippet, "here", "fresh", head=head)

    def _failed_since(self, snippet: Snippet, here: Provenance, package: Digests) -> bool:
        """Return whether a later run failed and nothing has changed since. A damaged failed run
        counts as failed, so that the snippet runs again.
        """
        try:
            failed = self._read_head(self._failed_folder(snippet.name), snippet.name)
        except StoreError:
            return True
        return failed is not None and still_fails(failed.run, snippet, here, package)

    def _not_fresh(
        self, snippet: Snippet, state: State, reasons: tuple[str, ...], head: Head | None = None
    ) -> Status:
        if (self._failed_folder(snippet.name) / "run.json").exists():
            state = "failed"
        return Status(snippet, "here", state, reasons, head=head)

    def save(self, run: Run) -> None:
        """Save `run`. A failed run is saved beside the last successful one; if it cannot be saved,
        the successful one is removed. Raises StoreError if saving fails.
        """
        target = self.folder(run.snippet) if run.ok else self._failed_folder(run.snippet)
        try:
            folders.sweep(target)
            folders.replace(target, lambda folder: run_files.write(run, folder))
            if run.ok:
                self.forget_failure(run.snippet)
        except OSError as error:
            if not run.ok:
                shutil.rmtree(self.folder(run.snippet), ignore_errors=True)
            raise self._write_error(run.snippet, error) from None

    def revoke(self, recording: str, failed_run: Run) -> None:
        """Save the failed run that revokes a recording, by the digest of the recording's
        ``run.json``.

        Raises StoreError if the run cannot be saved.
        """
        target = self.path / "revoked" / recording
        try:
            folders.replace(target, lambda folder: run_files.write(failed_run, folder))
        except OSError as error:
            raise self._write_error(failed_run.snippet, error) from None

    def load_revoking_run(self, recording: str, name: str) -> Run | None:
        """Return the failed run that revoked a recording; None if no run did. Raises StoreError if
        it is damaged.

        `recording` is the digest of the recording's ``run.json``, and `name` is the name of its
        snippet.
        """
        return self._read(self.path / "revoked" / recording, name)

    def hide_value(self, value: str) -> str:
        """Return a keyed digest that replaces a value that may be a secret.

        Other values have other digests, and without the key nobody can check a guess of the value.
        """
        data = value.encode("utf-8", "surrogateescape")
        return f"hidden {hmac.new(self._key, data, hashlib.sha256).hexdigest()[:8]}"

    @cached_property
    def _key(self) -> bytes:
        """The key of the store. A key that cannot be saved is valid only in this process."""
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
        """Remove the failed run, because a later run succeeded or the successful run is fresh
        again.
        """
        shutil.rmtree(self._failed_folder(name), ignore_errors=True)

    def _failed_folder(self, name: str) -> Path:
        return self.path / "failed" / name

    def check_writable(self) -> None:
        """Raise StoreError unless the store can be written."""
        probe = self.path / f".probe-{os.getpid()}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"tclab" * 1000)
            probe.unlink()
        except OSError as error:
            raise self._write_error("any run", error) from None

    def lock(self, name: str) -> Lock | None:
        """Take the lock of a snippet; return None while another process holds it."""
        return Lock.take(self.path / "locks" / (name.replace("/", "--") + ".lock"))

    def _read_head(self, folder: Path, name: str) -> Head | None:
        if not (folder / "run.json").exists() and not self._recover_folder(folder):
            return None
        return run_files.read_head(folder, name)

    def _read(self, folder: Path, name: str) -> Run | None:
        if not (folder / "run.json").exists() and not self._recover_folder(folder):
            return None
        return run_files.read(folder, name)

    @staticmethod
    def _recover_folder(folder: Path) -> bool:
        try:
            folders.recover(folder)
        except OSError:
            return False
        return (folder / "run.json").exists()

    def _write_error(self, content: str, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        return StoreError(
            f"the store {self.path.name}/",
            f"cannot keep {content}: {reason}",
            "free some space, make the folder writable, or name another with TCLAB_STORE",
        )


class Lock:
    """A lock file that is held until `release` is called or this process dies."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Lock | None:
        """Take the lock; return None while another process holds it. If the folder cannot be
        written, no lock is needed, because no run is saved there.
        """
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
        except OSError:  # the file system has no locks
            pass
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock, so that others may run the snippet."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _name(snippet: Snippet | str) -> str:
    return snippet if isinstance(snippet, str) else snippet.name
