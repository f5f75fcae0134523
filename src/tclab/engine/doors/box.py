"""A worker's trees and agents: a job in, an answer out, from as many threads as one likes."""

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

from tclab import paths
from tclab.engine.doors import protocol, tars, tree
from tclab.engine.doors.protocol import Answer, JobData

_TREES = 3  # that are kept; of more, the one that was used longest ago goes
_POLL = 0.2  # seconds between two looks at whether anybody still waits
_LEAVING = 15.0  # seconds an agent gets to end its snippets


class Box:
    """What runs jobs on this machine. A context manager: nothing outlives it.

    `pythons` are the environments, by their numbers; `width` jobs run at a time in each.
    """

    def __init__(self, pythons: Sequence[str], width: int) -> None:
        self.pythons, self.width = list(pythons), width
        self.folder = Path(tempfile.mkdtemp(prefix="tclab-box-", dir=paths.settle_temporary()))
        self._lock = threading.Lock()
        self._agents: dict[str, _Agent] = {}
        self._trees: list[str] = []  # the one that was used last is the last

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has(self, digest: str) -> bool:
        """The tree is here."""
        return digest in self._trees

    def put(self, digest: str, data: bytes) -> None:
        """Keep a tree. `tars.Unfit` where it is not what its digest says; OSError without room."""
        with self._lock:
            if digest in self._trees:
                return
            new = Path(tempfile.mkdtemp(dir=self.folder))
            try:
                tree.unpack(data, digest, new / "tree")
                os.rename(new / "tree", self._tree(digest))
            finally:
                shutil.rmtree(new, ignore_errors=True)
            self._trees.append(digest)
            self._forget()

    def run(
        self,
        job: JobData,
        unwanted: Callable[[], bool] = lambda: False,
        on_start: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Run a job whose tree is here, until `unwanted` says that nobody waits any more."""
        try:
            with self._lock:
                agent = self._agent(job)
                pending = agent.ask(job)
        except (OSError, IndexError, KeyError) as error:
            return Answer("trouble", f"cannot start a process for it: {error}")
        told = False
        while not pending.done.wait(_POLL):
            if pending.started and not told:
                told = True
                on_start()
            if not pending.cancelled and unwanted():
                agent.cancel(pending)
        return pending.answer()

    def close(self) -> None:
        """End all that runs, and remove what was unpacked."""
        with self._lock:
            for agent in self._agents.values():
                agent.leave()
            for agent in self._agents.values():
                agent.close()
            self._agents.clear()
            self._trees.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ inside

    def _tree(self, digest: str) -> Path:
        return self.folder / f"tree-{digest[:16]}"

    def _agent(self, job: JobData) -> _Agent:
        """The agent of a job's tree, Python and variables; started where there is none."""
        asks = [job["tree"], job["on"], job["cache"], sorted(job["variables"].items())]
        key = hashlib.sha256(protocol.dumped(asks)).hexdigest()
        agent = self._agents.get(key)
        if agent is None or not agent.lives:
            if agent is not None:
                agent.close()
            if job["tree"] not in self._trees:
                raise KeyError("its tree is not here")
            self._trees.remove(job["tree"])
            self._trees.append(job["tree"])
            agent = _Agent(self._command(job), self._variables(job), self.folder, job["tree"])
            self._agents[key] = agent
        return agent

    def _command(self, job: JobData) -> list[str]:
        python, mode = self.pythons[job["on"]], "warm" if job["warm"] else "cold"
        module = "tclab.engine.doors.agent"
        root = self._tree(job["tree"])
        cache = str(self._cache(root, job["cache"]))
        return [python, "-m", module, str(root), cache, str(self.width), mode]

    def _cache(self, root: Path, name: str) -> Path:
        """The folder for compiled objects, where it is at home: a run shows it. What is compiled
        names it, too; so no tree has that of another.
        """
        inside = bool(name) and tars.is_inside(name)
        return root / name if inside else root.with_name(f"cache-{root.name}")

    def _variables(self, job: JobData) -> dict[str, str]:
        root = self._tree(job["tree"])
        places = {"PYTHONPATH": str(root / "src"), "TCLAB_ROOT": str(root)}
        return protocol.agents_variables(job["variables"]) | places

    def _forget(self) -> None:
        """Remove old trees in which nothing runs."""
        for digest in self._trees[:-_TREES]:
            of_it = {key: one for key, one in self._agents.items() if one.tree == digest}
            if not any(one.pending for one in of_it.values()):
                for key, one in of_it.items():
                    one.leave()
                    one.close()
                    del self._agents[key]
                self._trees.remove(digest)
                root = self._tree(digest)
                for folder in (root, self._cache(root, "")):
                    shutil.rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class _Pending:
    """A job that an agent has."""

    number: int
    path: Path
    done: threading.Event = field(default_factory=threading.Event)
    started: bool = False
    cancelled: bool = False
    trouble: str = ""

    def answer(self) -> Answer:
        if self.trouble:
            return Answer("trouble", self.trouble)
        try:
            data = self.path.read_bytes()
            self.path.unlink()
        except OSError as error:
            return Answer("trouble", f"its answer cannot be read: {error.strerror}")
        return Answer.of(data)


class _Agent:
    """A process that runs jobs, from here."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path, tree_: str) -> None:
        self.tree = tree_
        self.pending: dict[int, _Pending] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="agent-", dir=folder))
        self._lock = threading.Lock()
        self._numbers = 0
        self._left = False
        with open(self._folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env | {"TMPDIR": paths.settle_temporary()},
                cwd=self._folder,
                start_new_session=True,
            )
        threading.Thread(target=self._hear, daemon=True).start()

    @property
    def lives(self) -> bool:
        return not self._left and self._process.poll() is None

    def ask(self, job: JobData) -> _Pending:
        """Have a job run."""
        with self._lock:
            self._numbers += 1
            one = _Pending(self._numbers, self._folder / str(self._numbers))
            self.pending[one.number] = one
        if self._left:
            self._lose()
        self._write({"id": one.number, "job": job, "answer": str(one.path)})
        return one

    def cancel(self, one: _Pending) -> None:
        one.cancelled = True
        self._write({"cancel": one.number})

    def leave(self) -> None:
        """Have it end; `close` waits for that."""
        self._left = True
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def close(self) -> None:
        """Nothing of it lives when this returns."""
        try:
            self._process.wait(_LEAVING)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its supervisor hears of it, and ends its snippets
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, line: dict[str, object]) -> None:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):  # `_hear` hears of its death
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def _hear(self) -> None:
        """What the process says, until it ends; then whatever it had is lost."""
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = cast("dict[str, object]", json.loads(text))
            if "started" in line:
                self.pending[cast(int, line["started"])].started = True
                continue
            one = self.pending.pop(cast(int, line["answered"]))
            one.trouble = str(line.get("trouble", ""))
            one.done.set()
        self._left = True
        self._lose()

    def _lose(self) -> None:
        log = ""
        with contextlib.suppress(OSError):
            log = (self._folder / "log").read_text(errors="replace").strip()[-600:]
        with self._lock:
            lost, self.pending = list(self.pending.values()), {}
        for one in lost:
            one.trouble = f"the process that ran it ended{': ' + log if log else ''}"
            one.done.set()
