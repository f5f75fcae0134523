"""Keep a worker's trees and its agents, and run jobs with them, from several threads at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tclab.site.remote import protocol, tars, tree
from tclab.site.remote.protocol import Answer, JobData
from tclab.system import paths

_TREES = 3  # the most trees to keep; then the least recently used one is removed
_POLL_SECONDS = 0.2  # seconds between two checks of whether a job was cancelled
_STOP_SECONDS = 15.0  # seconds that an agent gets to end its snippets


class WorkerHost:
    """Runs jobs on this machine. It is a context manager that ends all its processes on exit.

    `pythons` are the interpreters of the environments; each runs `width` jobs at a time.
    """

    def __init__(self, pythons: Sequence[str], width: int) -> None:
        self.pythons, self.width = list(pythons), width
        self.folder = Path(tempfile.mkdtemp(prefix="tclab-box-", dir=paths.set_temporary_folder()))
        self._lock = threading.Lock()
        self._agents: dict[str, _Agent] = {}
        self._trees: list[str] = []  # the digests of the trees, least recently used first

    def __enter__(self) -> WorkerHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has_tree(self, digest: str) -> bool:
        """Return whether this worker has the tree with this digest."""
        return digest in self._trees

    def add_tree(self, digest: str, data: bytes) -> None:
        """Keep a tree. Raises `tars.InvalidTar` if its digest is wrong, and OSError if the disk is
        full.
        """
        with self._lock:
            if digest in self._trees:
                return
            new = Path(tempfile.mkdtemp(dir=self.folder))
            try:
                tree.unpack(data, digest, new / "tree")
                os.rename(new / "tree", self._tree_folder(digest))
            finally:
                shutil.rmtree(new, ignore_errors=True)
            self._trees.append(digest)
            self._remove_old_trees()

    def run(
        self,
        job: JobData,
        is_cancelled: Callable[[], bool] = lambda: False,
        on_start: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Run a job in a tree that is here and return its answer; end the job once
        `is_cancelled()`.
        """
        try:
            with self._lock:
                agent = self._find_agent(job)
                pending = agent.submit(job)
        except (OSError, IndexError, KeyError) as error:
            return Answer("trouble", f"cannot start a process for it: {error}")
        reported = False
        while not pending.done.wait(_POLL_SECONDS):
            if pending.started and not reported:
                reported = True
                on_start()
            if not pending.cancelled and is_cancelled():
                agent.cancel(pending)
        return pending.read_answer()

    def close(self) -> None:
        """End all agents, and remove the trees."""
        with self._lock:
            for agent in self._agents.values():
                agent.stop()
            for agent in self._agents.values():
                agent.close()
            self._agents.clear()
            self._trees.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ agents and trees

    def _tree_folder(self, digest: str) -> Path:
        return self.folder / f"tree-{digest[:16]}"

    def _find_agent(self, job: JobData) -> _Agent:
        """Return the agent for a job's tree, Python and variables; start it if there is none."""
        key_parts = [job["tree"], job["on"], job["cache"], sorted(job["variables"].items())]
        key = hashlib.sha256(protocol.to_json(key_parts)).hexdigest()
        agent = self._agents.get(key)
        if job["tree"] in self._trees:
            self._trees.remove(job["tree"])
            self._trees.append(job["tree"])
        if agent is None or not agent.is_alive:
            if agent is not None:
                agent.close()
            if job["tree"] not in self._trees:
                raise KeyError("its tree is not here")
            agent = _Agent(
                self._make_command(job), self._make_variables(job), self.folder, job["tree"]
            )
            self._agents[key] = agent
        return agent

    def _make_command(self, job: JobData) -> list[str]:
        python, mode = self.pythons[job["on"]], "warm" if job["warm"] else "cold"
        module = "tclab.site.remote.agent"
        root = self._tree_folder(job["tree"])
        cache = str(self._cache_folder(root, job["cache"]))
        return [python, "-m", module, str(root), cache, str(self.width), mode]

    def _cache_folder(self, root: Path, name: str) -> Path:
        """Return the folder for compiled objects, at the same relative path as in the project,
        because runs can show this path.

        Compiled objects contain the folder's path, so two trees cannot share a folder.
        """
        inside = bool(name) and tars.is_inside(name)
        return root / name if inside else root.with_name(f"cache-{root.name}")

    def _make_variables(self, job: JobData) -> dict[str, str]:
        root = self._tree_folder(job["tree"])
        folders = {"PYTHONPATH": str(root / "src"), "TCLAB_ROOT": str(root)}
        return protocol.agent_variables(job["variables"]) | folders

    def _remove_old_trees(self) -> None:
        """Remove old trees in which nothing runs."""
        for digest in self._trees[:-_TREES]:
            agents = {key: agent for key, agent in self._agents.items() if agent.tree == digest}
            if not any(agent.pending for agent in agents.values()):
                for key, agent in agents.items():
                    agent.stop()
                    agent.close()
                    del self._agents[key]
                self._trees.remove(digest)
                root = self._tree_folder(digest)
                for folder in (root, self._cache_folder(root, "")):
                    shutil.rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class _PendingJob:
    """A job that was sent to an agent."""

    number: int
    path: Path
    done: threading.Event = field(default_factory=threading.Event)
    started: bool = False
    cancelled: bool = False
    trouble: str = ""

    def read_answer(self) -> Answer:
        """Read the answer from its file and remove the file."""
        if self.trouble:
            return Answer("trouble", self.trouble)
        try:
            data = self.path.read_bytes()
            self.path.unlink()
        except OSError as error:
            return Answer("trouble", f"its answer cannot be read: {error.strerror}")
        return Answer.parse(data)


class _Agent:
    """The host's side of an agent's process."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path, tree_: str) -> None:
        self.tree = tree_
        self.pending: dict[int, _PendingJob] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="agent-", dir=folder))
        self._lock = threading.Lock()
        self._numbers = 0
        self._stopped = False
        with open(self._folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env | {"TMPDIR": paths.set_temporary_folder()},
                cwd=self._folder,
                start_new_session=True,
            )
        threading.Thread(target=self._read_lines, daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether the agent takes jobs: its process runs, and nobody has stopped it."""
        return not self._stopped and self._process.poll() is None

    def submit(self, job: JobData) -> _PendingJob:
        """Send a job to the agent."""
        with self._lock:
            self._numbers += 1
            pending_job = _PendingJob(self._numbers, self._folder / str(self._numbers))
            self.pending[pending_job.number] = pending_job
        if self._stopped:
            self._fail_pending()
        self._write({"id": pending_job.number, "job": job, "answer": str(pending_job.path)})
        return pending_job

    def cancel(self, pending_job: _PendingJob) -> None:
        """Tell the agent to end a job. The agent still sends an answer."""
        pending_job.cancelled = True
        self._write({"cancel": pending_job.number})

    def stop(self) -> None:
        """Tell the agent to end; `close` waits for its end."""
        self._stopped = True
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def close(self) -> None:
        """Wait until the agent has ended; kill it after `_STOP_SECONDS`."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the agent's supervisor notices its death, and ends the snippets
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, line: dict[str, object]) -> None:
        assert self._process.stdin is not None
        with (
            self._lock,
            contextlib.suppress(OSError, ValueError),
        ):  # the agent is dead; `_read_lines` handles that
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def _read_lines(self) -> None:
        """Read the agent's lines until it ends; then fail its unanswered jobs."""
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = cast("dict[str, object]", json.loads(text))
            if "started" in line:
                self.pending[cast(int, line["started"])].started = True
                continue
            pending_job = self.pending.pop(cast(int, line["answered"]))
            pending_job.trouble = str(line.get("trouble", ""))
            pending_job.done.set()
        self._stopped = True
        self._fail_pending()

    def _fail_pending(self) -> None:
        """Give each unanswered job the end of the agent's log as its answer."""
        log = ""
        with contextlib.suppress(OSError):
            log = (self._folder / "log").read_text(errors="replace").strip()[-600:]
        with self._lock:
            lost, self.pending = list(self.pending.values()), {}
        for pending_job in lost:
            pending_job.trouble = f"the process that ran it ended{': ' + log if log else ''}"
            pending_job.done.set()
