"""Ask processes of their own to compile graphs again, each within limits of time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from tclab.capturing.runnable.question import MACHINE
from tclab.jobs.again.graphs import TracedGraph
from tclab.jobs.again.kept import KeptResults
from tclab.jobs.again.stages import link_to_lines
from tclab.jobs.again.verdicts import compare_codes
from tclab.jobs.child import make_folders
from tclab.model import UNREADABLE, JobReplay, JobReplayKernel
from tclab.system.machine import count_cores

_CHILD = "tclab.capturing.runnable"
#: Seconds for PyTorch to start, and for each graph.
_START_SECONDS, _GRAPH_SECONDS = 120, 240
#: Seconds for a graph whose kernels are compiled down to instructions.
_MACHINE_SECONDS = 1200
#: The most processes at work, and the questions for which one more starts.
_MOST_PROCESSES, _ENOUGH_QUESTIONS = 8, 32
_NOT_STARTED = "PyTorch and Triton did not start, or tclab does not know this PyTorch"


def replay_graphs(
    graphs: Iterable[tuple[str, TracedGraph]], *, python: str = sys.executable
) -> Iterator[JobReplay]:
    """Yield what became of each graph, given with the name of its process, when PyTorch of `python`
    compiled it again.
    """
    for process, graph, answer in answer_graphs(graphs, python=python):
        yield _judge(graph, process, answer)


def answer_graphs(
    graphs: Iterable[tuple[str, TracedGraph]], *, python: str = sys.executable
) -> Iterator[tuple[str, TracedGraph, Mapping[str, Any]]]:
    """Yield each graph, given with the name of its process, and what PyTorch of `python` answered:
    the key `code`, or the `cause` why there is none. Equal graphs, such as those of several ranks,
    are compiled once; the code of a graph is kept for the next time.
    """
    listed = [*graphs]
    questions = dict.fromkeys(each.question.to_json() for _, each in listed if not each.refusal)
    results = KeptResults.of(python)
    found = {question: results.find(question) for question in questions}
    known = {question: {**answer, "kept": True} for question, answer in found.items() if answer}
    with closing(_ask([each for each in questions if each not in known], python)) as answers:
        for process, graph in listed:
            question = graph.question.to_json()
            while not graph.refusal and question not in known:
                asked, answer = next(answers)
                results.keep(asked, answer)
                known[asked] = {**answer}
            yield process, graph, {"cause": graph.refusal, **known.get(question, {})}
    results.limit()


def _ask(
    questions: Sequence[str], python: str
) -> Generator[tuple[str, Mapping[str, Any]], None, None]:
    """Yield each question with its answer, in order. Several processes work on them where there are
    many, since each takes seconds to start.
    """
    count = min(count_cores(), _MOST_PROCESSES, 1 + len(questions) // _ENOUGH_QUESTIONS)
    pool = ThreadPoolExecutor(count)
    with ExitStack() as stack:
        stack.callback(pool.shutdown)
        free: SimpleQueue[_Compiler] = SimpleQueue()
        for _ in range(count):
            free.put(stack.enter_context(_Compiler(python)))

        def ask(question: str) -> Mapping[str, Any]:
            compiler = free.get()
            try:
                return compiler.ask(question)
            finally:
                free.put(compiler)

        # an interrupt drops the questions first, ends the processes, and then waits for the threads
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield from zip(questions, pool.map(ask, questions))


def _judge(graph: TracedGraph, process: str, answer: Mapping[str, Any]) -> JobReplay:
    code, torch = answer.get("code"), str(answer.get("torch") or "")
    return JobReplay(
        process=process,
        compile_id=graph.compile_id,
        direction=graph.direction,
        traced=graph.torch,
        torch=torch,
        target=graph.question.target,
        kernels=_name_versions(compare_codes(graph.code, str(code)), graph.torch, torch)
        if code
        else (),
        cause=explain_failure(answer),
        seconds=float(answer.get("seconds") or 0.0),
        kept=bool(answer.get("kept")),
        chain=link_to_lines(answer.get("chain"), graph),
        lacking=str(answer.get("lacking") or ""),
    )


def explain_failure(answer: Mapping[str, Any]) -> str:
    """Return why an answer has no code, or '' if it has."""
    if answer.get("code"):
        return ""
    place, cause = str(answer.get("place") or ""), str(answer.get("cause") or "")
    cause = cause or "Inductor wrote no code for it"
    return f"{place}: {cause}" if place else cause


def _name_versions(
    kernels: Sequence[JobReplayKernel], traced: str, used: str
) -> tuple[JobReplayKernel, ...]:
    """Add the versions of PyTorch to each verdict if their minor releases are not the same."""
    job, again = (".".join(text.split(".")[:2]) for text in (traced, used))
    if job == again:
        return tuple(kernels)
    note = f", with PyTorch {again} instead of {job or 'one that the trace does not name'}"
    return tuple(replace(each, verdict=f"{each.verdict}{note}") for each in kernels)


class _Compiler:
    """A process that compiles graphs. It starts with the first question, and again if it ended."""

    def __init__(self, python: str) -> None:
        self.torch = ""
        self._python, self._fails = python, False
        self._folder = tempfile.TemporaryDirectory(prefix="tclab-replay-")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Compiler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        self._folder.cleanup()

    def ask(self, question: str) -> Mapping[str, Any]:
        """Return the answer to a question, which has a cause if there is no code."""
        if self._fails:
            return {"cause": _NOT_STARTED}
        if self._process is None or self._process.poll() is not None:
            started = str(self._start().get("torch") or "")
            self.torch, self._fails = started or self.torch, not started
            if self._fails:
                return {"cause": _NOT_STARTED}
        down = json.loads(question).get("stages") == MACHINE
        seconds = _MACHINE_SECONDS if down else _GRAPH_SECONDS
        return {**self._exchange(question, seconds), "torch": self.torch}

    def _start(self) -> Mapping[str, Any]:
        work, variables = make_folders(self._folder.name)
        self._process = subprocess.Popen(
            [self._python, "-m", _CHILD], cwd=work,
            env={**_without_settings(os.environ), **variables}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self._exchange("", _START_SECONDS)

    def _exchange(self, question: str, seconds: float) -> Mapping[str, Any]:
        """Return what the process answers within `seconds`; else the process is killed."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, self._kill)
        timer.start()
        try:
            if question:
                process.stdin.write(question.encode() + b"\n")
                process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            return answer if isinstance(answer, dict) else {}
        except (OSError, *UNREADABLE):
            process.wait()
            return {"cause": f"the compile ended, or took more than {seconds:.0f} seconds"}
        finally:
            timer.cancel()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _end(self) -> None:
        self._kill()
        if self._process is not None:
            with suppress(OSError):
                self._process.communicate()
        self._process = None


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what sets PyTorch, since the trace has the job's settings."""
    prefixes = ("TORCH", "INDUCTOR_", "TRITON_", "AOT_", "DYNAMO_")
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}
