"""Samples as the readers get them: a `Trace` made of a log's records, by tclab's own listener."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch._dynamo  # noqa: F401 - a place in its files is looked for among the imported modules

from tclab.capturing.torch_private import compiler
from tclab.capturing.trace import names
from tclab.capturing.trace import records as trace_records
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import KernelLine, KernelNote, LoopBodiesNote
from tclab.model import FusedGroup
from tests.samples.log import SAMPLES, Record, read

T = TypeVar("T")

#: The versions there are samples of, oldest first.
VERSIONS = sorted(
    (folder.name.removeprefix("torch-") for folder in SAMPLES.glob("torch-*")),
    key=lambda version: tuple(map(int, version.split("."))),
)


def since(values: Mapping[str, T], version: str) -> T:
    """Of values by the first version that has them, the one of `version`."""
    return values[max((v for v in values if _number(v) <= _number(version)), key=_number)]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def text(version: str, name: str) -> str:
    """A sample that is one text."""
    return (SAMPLES / f"torch-{version}" / name).read_text(encoding="utf-8")


def records(version: str, case: str) -> list[Record]:
    """A sample that is a log."""
    return list(read(SAMPLES / f"torch-{version}" / f"{case}.log"))


@contextmanager
def replayed(version: str, case: str) -> Iterator[Trace]:
    """The trace of a log."""
    trace = Trace()
    files: dict[int, str] = {}
    for record in records(version, case):
        ids = record.meta.get("frame_id"), record.meta.get("frame_compile_id")
        if "str" in record.meta:
            name, number = record.meta["str"]
            files[number] = name
        elif "log" in record.meta:
            trace.add(record.meta["log"], None, record.payload, ids)
        elif "noted" in record.meta:
            _note(trace, record.meta["noted"], record.payload, ids)
        else:
            trace_records.add_record(trace, record.meta, record.payload, lambda: files)
    short = compiler.files_by_short_name({*files.values()})
    trace.add(names.FILES, short, "", (None, None))
    yield trace


def _note(trace: Trace, name: str, payload: str, ids: tuple[int | None, int | None]) -> None:
    """What tclab noted itself. Bytecode is there as text only, so for those who want text."""
    if name == "bytecode":
        trace.add("bytecode as text", None, payload, ids)
        return
    data = {"kernel_nodes": _nodes, "links_ir": _body, "links_kernel": _kernel}[name](payload)
    trace.add(name, data, "", ids)


def _nodes(payload: str) -> dict[str, tuple[str, ...]]:
    return {handle: tuple(nodes) for handle, nodes in json.loads(payload).items()}


def _marks(marks: list[list]) -> tuple[tuple[int, str], ...]:
    return tuple((number, name) for number, name in marks)


def _body(payload: str) -> LoopBodiesNote:
    note = json.loads(payload)
    marks = {op: {k: _marks(v) for k, v in body.items()} for op, body in note["marks"].items()}
    groups = [_group(group) for group in note["groups"]]
    origins = {op: _marks(m) for op, m in note["origins"].items()}
    return LoopBodiesNote(marks, origins, tuple(groups))


def _group(note: dict[str, Any]) -> FusedGroup:
    shared = {buffer: tuple(ops) for buffer, ops in note["shared"].items()}
    return FusedGroup(tuple(note["ops"]), note["bytes"], shared)


def _kernel(payload: str) -> KernelNote:
    name, *rows = map(json.loads, payload.splitlines())
    lines = [
        KernelLine(text, _marks(marks), body and tuple(body), writer, _marks(again))
        for text, marks, body, writer, again in rows
    ]
    return KernelNote(name, tuple(lines))
