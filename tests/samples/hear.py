"""Everything that PyTorch says while samples are made, kept as it was said.

A capture's trace holds what tclab's listener made of PyTorch's records. Here the records are
kept themselves, and written with what the listener has from elsewhere: log messages, bytecode,
and tclab's own notes.
"""

from __future__ import annotations

import copy
import dis
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import CodeType
from typing import Any

from tclab.capturing.trace import names
from tests.samples.log import Record, write

Named = list[tuple[str, Record]]

#: Of a compile's metrics, which are hundreds, what is read.
METRICS = ("co_name", "fail_type", "fail_reason")


class Heard(logging.Handler):
    """The structured trace's records since the last `take`."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[Record] = []
        self.texts: list[str] = []
        self.names: dict[str, None] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        from torch._logging._internal import trace_log

        trace_log.handlers.insert(0, self)
        try:
            yield
        finally:
            trace_log.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        meta, payload = getattr(record, "metadata", {}), getattr(record, "payload", None) or ""
        self.records.append(Record(meta, payload))
        self.texts.append(payload)

    def take(self, capture: Any) -> Named:
        """All that a capture heard, by name."""
        records, self.records = self.records, []
        named = list(_named(capture, iter(records)))
        self.names |= dict.fromkeys(name for name, _ in named)
        return named

    def unscrubbed(self) -> Iterator[str]:
        """Lines in which `scrub` changes more than places: one for each thing it changes."""
        from tclab.text.scrub import scrub

        texts = (line.partition("  # ")[0] for text in self.texts for line in text.splitlines())
        changed = {scrub(text): text for text in texts if "/" not in text and scrub(text) != text}
        yield from (text.strip() + "\n" for text in changed.values())


def _named(capture: Any, structured: Iterator[Record]) -> Iterator[tuple[str, Record]]:
    """The events of a capture, in order, as they came."""
    from tclab.capturing.torch_private import compiler

    numbers = {own: number for number, own in capture.trace.frames.items()}
    for event in capture.trace.events:
        frame, _, attempt = event.compile_id.partition("/")
        ids = {"frame_id": numbers[int(frame)], "frame_compile_id": int(attempt)} if frame else {}
        if event.name in compiler.LOGS:
            yield event.name, Record({"log": event.name, **ids}, event.payload)
        elif event.name in _NOTES:
            for payload in _NOTES[event.name](event.data):
                yield event.name, Record({"noted": event.name, **ids}, payload)
        elif not event.name.startswith("links_") and event.name not in _OWN:
            yield event.name, next(structured)


#: What tclab adds beside the notes that are kept.
_OWN = {
    *(names.RUN, names.CALLED, names.PRECISIONS, names.FILES, names.CHECKPOINTS, names.CUT),
    *(names.STEP, names.LAUNCHED),
}


def _bytecode(codes: tuple[CodeType, CodeType]) -> Iterator[str]:
    """Of the rewritten bytecode, the lines with names that Dynamo made."""
    lines = [line for line in dis.Bytecode(codes[1]).dis().splitlines() if "__" in line]
    yield from ["\n".join(lines)] if lines else []


def _kernel(note: Any) -> Iterator[str]:
    writers = list(dict.fromkeys(line.writer for line in note.lines))
    rows = [[x.text, x.marks, x.body, writers.index(x.writer), x.again] for x in note.lines]
    yield "\n".join(map(json.dumps, [note.name, *rows]))


_NOTES: dict[str, Callable[[Any], Iterable[str]]] = {
    "bytecode": _bytecode,
    "kernel_nodes": lambda nodes: [json.dumps(nodes)],
    "links_ir": lambda note: [json.dumps(asdict(note))],
    "links_kernel": _kernel,
}


# ------------------------------------------------------------------------------ written


def keep(path: Path, records: Named, wanted: Iterable[str]) -> None:
    """Write those records that are called as in `wanted`, in order."""
    from torch._logging.structured import INTERN_TABLE

    from tclab.text.scrub import scrub

    some = [_cleaned(record) for name, record in records if name in wanted]
    stacks = [stack for record in some for stack in _stacks(record.meta)]
    used = {frame["filename"] for stack in stacks for frame in stack}
    files = [Record({"str": [scrub(name), n]}) for name, n in INTERN_TABLE.items() if n in used]
    write(path, [*files, *some])


def _stacks(meta: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for value in meta.values():
        if isinstance(value, dict):
            yield from (value[key] for key in ("stack", "user_stack") if value.get(key))


def _cleaned(record: Record) -> Record:
    """A record without places, without what stands on the stack above the code that is compiled,
    and of what is long and not read, the beginning.
    """
    from tclab.text.scrub import scrub, scrub_data

    meta = copy.deepcopy(record.meta)
    for stack in _stacks(meta):
        del stack[:-1]
    if metrics := meta.get("compilation_metrics"):
        read = {key: metrics[key] for key in METRICS if key in metrics}
        meta["compilation_metrics"] = {k: v and v.partition("\n")[0] for k, v in read.items()}
    text, own, rest = record.payload.partition("\nTraceback (most recent call last):\n")
    payload = text + own + "".join(rest.splitlines(keepends=True)[:2])
    return Record(scrub_data(meta), scrub(payload))  # type: ignore[arg-type]


def chrome(records: Named) -> Iterator[str]:
    """The events of Chrome's trace but those of single passes, an event a line."""
    for event in (json.loads(r.payload) for name, r in records if name == "chromium_event"):
        if not event["name"].startswith("pass."):
            yield "{ph} {ts} {pid} {tid} {name}\n".format_map(event)
