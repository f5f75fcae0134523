"""Read the records of PyTorch's structured trace. They come from a logging handler, or from a log
that PyTorch wrote for TORCH_TRACE.

A log is text: a line with a header and JSON begins a record, and lines that begin with a tab are
its payload. https://github.com/meta-pytorch/tlparse documents the format.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.names import ChromeEvent

#: Metadata keys of a record that give its context; the other key is its name.
_CONTEXT_KEYS = {
    *("frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "stack", "process"),
    *("compiled_autograd_id", "subgraph_name", "pathname", "lineno", "timestamp", "thread"),
}
# V1126 03:02:44.762000 600 torch/_dynamo/utils.py:2126] {"chromium_event": {}, "frame_id": 0}
_HEADER = re.compile(r"^[VIWEC](?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6}) +\d+ [^\]]*\] ?(?P<json>.*)$")
# utils_device.CURRENT_DEVICE == None    # _dynamo/output_graph.py:1122 in init_ambient_guards
_TORCH_FILE = re.compile(r"# ((?:_\w+|autograd|distributed|fx|nn|optim|utils)/[\w/]+\.py):\d+ in ")
#: The record that says which nodes a kernel computes, where INDUCTOR_PROVENANCE asked for it.
_KERNEL_NODES = "inductor_provenance_tracking_node_mappings"
#: The names of the records from whose payloads a job is read. Other records are only counted.
_READ = frozenset({
    *(names.START, names.METRICS, names.CHROME, names.CREATED_SYMBOL, "bwd_compilation_metrics"),
    *("dynamo_output_graph", "inductor_post_grad_graph", "inductor_output_code", _KERNEL_NODES),
    *("dynamo_graph_break_reason", "recompile_reasons", "dynamo_cpp_guards_str"),
    *("fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass"),
    *("aotautograd_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass"),
    *("inductor_collective_schedule", "inductor_runtime_and_tensor_meta", "graph_execution"),
    *("fx_graph_runnable", "after_post_grad_graph"),
    *("vllm_compilation_config", "vllm_piecewise_compile_start", "torch_version"),
})  # fmt: skip
#: AOTAutograd's graphs. Only the stages and the snapshot of a compile need them.
_AOT_GRAPHS = frozenset(
    {"aot_joint_graph", "aot_forward_graph", "aot_inference_graph", "aot_backward_graph"}
)
#: Name of a record in PyTorch 2.9 and earlier → its name now.
_NEWER_NAMES = {"after_post_grad_graph": "inductor_post_grad_graph"}
#: Records that are wrappers: a field of their metadata has the name of the content.
_WRAPPERS = ("artifact", "graph_dump")
#: Fields of the metrics whose values are numbers or None.
_NUMBERS = (
    *("entire_frame_compile_time_s", "duration_us", "backend_compile_time_s"),
    *("guard_count", "graph_op_count", "co_firstlineno"),
)
#: The fields that are kept of the metrics, of which a compile has more than a hundred.
_METRICS_FIELDS = (
    *(*_NUMBERS, "co_name", "co_filename", "fail_type", "fail_reason"),
    *("cudagraph_skip_reason", "pytorch_version"),
)
#: Settings as JSON texts of 20 KB, which are the same in most compiles of a job.
_SETTINGS_FIELDS = ("inductor_config", "compiler_config")
_METRICS = (names.METRICS, "bwd_compilation_metrics")
#: The fields that are kept of an event for Chrome's trace viewer, because there are many such
#: events.
_CHROME_FIELDS = ("name", "ph", "ts", "pid", "tid")

#: Record → the field with a stack whose frames name files by number.
_STACKS: dict[str, str] = {names.START: "stack", names.CREATED_SYMBOL: "user_stack"}

InternedFiles = Callable[[], Mapping[int, str]]


def add_record(
    trace: Trace, meta: Mapping[str, Any], payload: str, interned_files: InternedFiles
) -> str:
    """Append one record as an event, and return its name. Raises ValueError, TypeError or KeyError
    for a record that is not in PyTorch's form.
    """
    name = _name(meta)
    data: Any = meta.get(name)
    if name == names.CHROME:
        data = json.loads(payload)
    elif name in _STACKS:
        key = _STACKS[name]
        data = {**data, key: _name_files(data.get(key) or [], interned_files())}
    ids = meta.get("frame_id"), meta.get("frame_compile_id")
    trace.add(name, data, payload, ids, meta.get("attempt") or 0)
    return name


def _name(meta: Mapping[str, Any]) -> str:
    name = next((key for key in meta if key not in _CONTEXT_KEYS), "")
    return str(meta[name]["name"]) if name in _WRAPPERS else name


def _name_files(stack: Iterable[Mapping[str, Any]], files: Mapping[int, str]) -> list[Any]:
    """Replace the number of each frame's file by its name."""
    return [{**frame, "filename": files.get(frame["filename"], "")} for frame in stack]


@dataclass
class Log:
    """One log, with its events and with the counts of all its records.

    `rank` is the rank of the process, None outside of torch.distributed. `counts` maps a name to
    the number of records with this name. `unread` maps a reason to the number of records that could
    not be read for it. `files` maps the numbers that records use for files to the files' names.
    `read` has the names of the records that become events. With `on_phase`, the events for Chrome's
    trace viewer go to it and are not kept, because a long job has millions of them. `began` and
    `ended` are the month, day and time of the first and of the last record, such as
    ``1126 03:02:44.762000``.
    """

    trace: Trace = field(default_factory=Trace)
    rank: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    files: dict[int, str] = field(default_factory=dict)
    read: frozenset[str] = _READ
    on_phase: Callable[[ChromeEvent], None] | None = None
    began: str = ""
    ended: str = ""
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    def add(self, header: str, payload: str) -> None:
        """Add the record with this JSON. A record that cannot be read is counted."""
        try:
            meta = json.loads(header)
            if not isinstance(meta, dict):
                raise TypeError
            self._add(meta, payload)
        except json.JSONDecodeError:
            self.unread["its JSON is broken or cut"] += 1
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.unread["not in PyTorch's form"] += 1

    def _add(self, meta: dict[str, Any], payload: str) -> None:
        if "str" in meta:
            name, number = meta["str"]
            self.files[int(number)] = str(name)
            self.counts["str"] += 1
            return
        if isinstance(rank := meta.get("rank"), int) and rank >= 0:
            self.rank = rank
        if isinstance(frame := meta.get("frame_id"), int):
            # keep PyTorch's numbers of frames, because a profile has the same numbers
            self.trace.frames.setdefault(frame, frame)
        name = _name(meta)
        if name not in self.read:
            self.counts[name] += 1
            return
        if name != names.CHROME:
            payload = self._texts.setdefault(payload, payload)
        add_record(self.trace, meta, payload, lambda: self.files)
        event = self.trace.events.pop()
        if not _has_fields(event):
            raise TypeError(name)
        if event.name == names.CHROME and self.on_phase:
            self.on_phase(event.data)
        else:
            self.trace.events.append(_shorten(event))
        self.counts[name] += 1


def _shorten(event: Event[Any]) -> Event[Any]:
    """Return an event without the data that nobody reads. An event under a name of an older PyTorch
    gets its present name.
    """
    if event.name == names.CHROME:
        data = {key: event.data[key] for key in _CHROME_FIELDS if key in event.data}
        return replace(event, data=data, payload="")
    if event.name == _KERNEL_NODES:
        nodes = _read_kernel_nodes(event.payload)
        return replace(event, name=names.KERNEL_NODES, data=nodes)
    if event.name in _METRICS:
        data = {key: event.data[key] for key in _METRICS_FIELDS if key in event.data}
        settings = {key: event.data.get(key) for key in _SETTINGS_FIELDS}
        texts = {key: sys.intern(text) for key, text in settings.items() if isinstance(text, str)}
        return replace(event, data=data | texts)
    new_name = _NEWER_NAMES.get(event.name)
    return replace(event, name=new_name) if new_name else event


def _read_kernel_nodes(payload: str) -> dict[str, tuple[str, ...]]:
    """Map each ``kernel:handle`` to the names of the nodes that the kernel computes. The map is
    empty for a graph that a cache kept without these names. Raises ValueError, TypeError or
    AttributeError for another payload.
    """
    nodes = (json.loads(payload or "null") or {}).get("cppCodeToPost") or {}
    return {str(kernel): tuple(map(str, computed)) for kernel, computed in nodes.items()}


def _has_fields(event: Event[Any]) -> bool:
    """Return whether a record has the fields that its readers take for granted."""
    data = event.data
    if event.name == names.START:
        return all({"name", "line"} <= set(frame) for frame in data["stack"])
    if event.name == names.CHROME:
        texts = isinstance(data.get("name"), str) and isinstance(data.get("ph"), str)
        thread = data.get("pid", 0), data.get("tid", 0)
        numbers = (data.get("ts"), *thread)
        return texts and all(isinstance(each, (int, float)) for each in numbers)
    if event.name == names.CREATED_SYMBOL:
        return {"symbol", "val", "source"} <= set(data)
    if event.name in _METRICS:
        return all(isinstance(data.get(key) or 0, (int, float)) for key in _NUMBERS)
    return True


def read_log(
    lines: Iterable[str],
    *,
    all_graphs: bool = False,
    also: frozenset[str] = frozenset(),
    on_phase: Callable[[ChromeEvent], None] | None = None,
) -> Log:
    """Read the lines of a log. The log may be cut off, and it may contain records that PyTorch did
    not write. With `all_graphs`, AOTAutograd's graphs are among the events, and those named in
    `also`. With `on_phase`, the events for Chrome's trace viewer go to it and are not kept.
    """
    log = Log(read=_READ | also | (_AOT_GRAPHS if all_graphs else set()), on_phase=on_phase)
    try:
        for header, payload in _split_records(lines, log):
            log.add(header, payload)
    except (OSError, EOFError, zlib.error):  # a compressed log was cut off
        log.unread["the rest, since the file is damaged"] += 1
    short_names = dict(_short_names(log.trace, [*log.files.values()]))
    log.trace.add(names.FILES, short_names, "", (None, None))
    return log


def _split_records(lines: Iterable[str], log: Log) -> Iterator[tuple[str, str]]:
    """Yield the JSON and the payload of each record. Note in the log when its records were written,
    and count the lines that belong to no record.
    """
    header: str | None = None
    payload: list[str] = []
    for line in lines:
        if line.startswith("\t") and header is not None:
            payload.append(line[1:])
        elif match := _HEADER.match(line):
            if header is not None:
                yield header, "".join(payload).removesuffix("\n")
            header, payload = match["json"], []
            log.began, log.ended = log.began or match["time"], match["time"]
        elif line.strip():
            log.unread["a line outside of any record"] += 1
    if header is not None:
        yield header, "".join(payload).removesuffix("\n")


def _short_names(trace: Trace, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (shortened name in PyTorch's guards, full name) for each file. PyTorch removes the part
    of a file's path that it shares with PyTorch's own folder, and one more character. The log may
    not contain the full names of PyTorch's own files.
    """
    own = (f.partition("_dynamo/")[0] for f in files if "/torch/_dynamo/" in f)
    folder = next(own, "torch/")
    for event in trace.select("dynamo_cpp_guards_str", "recompile_reasons"):
        for name in _TORCH_FILE.findall(event.payload):
            yield name, folder + name
    for file in files:
        yield file[_common_length(file, folder.rstrip("/")) + 1 :], file


def _common_length(file: str, folder: str) -> int:
    """Return the length of the folders that both paths have in common."""
    common = 0
    for one, other in zip(file.split("/"), folder.split("/")):
        if one != other:
            break
        common += len(one) + 1
    return max(common - 1, 1)
