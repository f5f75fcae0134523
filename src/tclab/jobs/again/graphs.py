"""Find in a trace the graphs that Inductor compiled, each with what is needed to compile it again:
its text, its output code, and what the records before and after it say of the compile.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclab import targets
from tclab.capturing.read.caching import read_cache_events
from tclab.capturing.runnable.question import Question
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.jobs.graphs import read_gpu

#: The records of a graph, in the order of the log; the graph is printed after some passes, too.
_TEXT, _CODE = "fx_graph_runnable", "inductor_output_code"
_BEFORE, _AFTER = "before_post_grad_graph", "inductor_post_grad_graph"
#: What AOTAutograd knows of the inputs and outputs of a compile.
_METADATA = "aot_forward_graph_fw_metadata"
#: The records that are needed beside those of which a job is read.
RECORDS = frozenset({_BEFORE, _METADATA})
_ANSWERS = ("fx_graph_cache_miss", "fx_graph_cache_hit", "fx_graph_cache_bypass")
# # torch version: 2.11.0+cu130
_VERSION = re.compile(r"^# torch version: (\S+)", re.MULTILINE)
# primals_3: "Sym(s33)"
_SIZE = re.compile(r'\b(?P<name>\w+): "Sym\((?P<size>[^"]+)\)"')
#     def forward(self, primals_1, tangents_1):
_INPUTS = re.compile(r"^ +def forward\(self, (?P<names>[^)]*)\)", re.MULTILINE)
# #pragma omp parallel num_threads(8)
_THREADS = re.compile(r"num_threads\((\d{1,4})\)")
# [cev5uo2] fx_kwargs[is_backward]: True
# [advjbaf] cuda_matmul_settings: ('tf32', True, True)
_PART = re.compile(
    r"\[\w+\] (?:fx_kwargs\[(?P<name>\w+)\]|(?P<rounding>cuda_matmul_settings)): (?P<value>.*)",
    re.DOTALL,
)
#: How that begins if products of float32 may be rounded to TF32; before PyTorch 2.9 with True.
_ROUNDED = ("('tf32'", "(True")
#     ALLOW_TF32 : tl.constexpr = True
#     FLOAT32_PRECISION : tl.constexpr = 'tf32'
_IN_CODE = re.compile(
    r"^    (?:ALLOW_TF32 : tl\.constexpr = True|FLOAT32_PRECISION : tl\.constexpr = 'tf32')$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"\d+")
# torch._inductor.config.max_autotune_gemm = True
_TIMED = re.compile(
    r"^torch\._inductor\.config\.(max_autotune\w*|coordinate_descent_tuning) = True", re.MULTILINE
)
#                     bw_donated_idxs=[9,
_LIST = re.compile(r"^ *(?P<name>bw_donated_idxs|static_input_indices)=\[(?P<values>[^\]]*)\]",
                   re.MULTILINE)  # fmt: skip
_OUTPUT = "OutputAliasInfo("


@dataclass(frozen=True)
class TracedGraph:
    """A graph of a job. `code` is its output code in the trace, and `torch` the version that wrote
    it. `lowered` is the graph after Inductor's passes. `refusal` is the reason why it cannot be
    asked for, or ''.
    """

    compile_id: str
    question: Question
    code: str
    torch: str = ""
    device: str = ""
    refusal: str = ""
    lowered: str = ""

    @property
    def direction(self) -> str:
        """Which part of the function the graph is: forward, backward, or inference."""
        if self.question.is_backward:
            return "backward"
        return "inference" if self.question.is_inference else "forward"


def find_graphs(trace: Trace) -> Iterator[TracedGraph]:
    """Yield each graph of a trace that has its text and its output code."""
    ranges = dict(_read_ranges(trace))
    for group in _group(trace):
        if _TEXT in group and _CODE in group:
            yield _read_graph(group, ranges.get(group[_TEXT].compile_id, {}))


def _group(trace: Trace) -> Iterator[dict[str, Event[Any]]]:
    """Yield the records of each graph by name, the answer of Inductor's cache among them."""
    group: dict[str, Event[Any]] = {}
    known: dict[str, list[Event[Any]]] = defaultdict(list)
    for event in trace.select(_METADATA, _TEXT, _BEFORE, _AFTER, _CODE, *_ANSWERS):
        if event.name == _METADATA:
            known[event.compile_id].append(event)
        elif event.name == _TEXT or (group and event.compile_id != group[_TEXT].compile_id):
            if group:
                yield group
            group = {_TEXT: event} if event.name == _TEXT else {}
            if group and (waiting := known[event.compile_id]):
                group[_METADATA] = waiting[-1]
                if _is_backward(event.payload) and len(waiting) > 1:
                    # DDP splits one compile: all forwards come first, the last one's backward next.
                    waiting.pop()
        elif group:
            name = "answer" if event.name in _ANSWERS else event.name
            group.setdefault(name, event)
    if group:
        yield group


def _read_ranges(trace: Trace) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield (id of a compile, symbol → range), the last attempt of a compile last."""
    found: dict[str, dict[str, str]] = {}
    for event in trace.select(names.CREATED_SYMBOL):
        ranges = found.setdefault(event.compile_id, {})
        ranges[event.data["symbol"]] = str(event.data.get("vr") or "")
    yield from found.items()


def _read_graph(group: Mapping[str, Event[Any]], ranges: Mapping[str, str]) -> TracedGraph:
    text, code = group[_TEXT].payload, group[_CODE].payload
    printed = group.get(_AFTER, group[_TEXT]).payload
    inputs = _read_inputs(text)
    backward, traced = _is_backward(text), "primals_" in inputs
    metadata = group[_METADATA].payload if _METADATA in group else ""
    lists = {match["name"]: match["values"] for match in _LIST.finditer(metadata)}
    static = lists.get("static_input_indices", "")
    if backward:  # all that the forward saved
        names = inputs.split(", ")
        static = " ".join(str(n) for n, each in enumerate(names) if "tangents_" not in each)
    asked = {"static_input_idxs": static, **dict(_read_key(group))}
    device = read_gpu(text)
    on_gpu = "device(type='cuda'" in text
    target = targets.find_by_device(device) if on_gpu and device else None
    refusal = ""
    if on_gpu and target is None:
        refusal = f"{device or 'its GPU'} is no known target"
    threads = match[1] if (match := _THREADS.search(code)) else "1"
    question = Question(
        runnable=text,
        graph=group[_BEFORE].payload if _BEFORE in group else "",
        target=target.name if target else "",
        is_backward=asked.get("is_backward", str(backward)) == "True",
        is_inference=asked.get("is_inference", str(not backward and not traced)) == "True",
        static=_read_numbers(asked["static_input_idxs"]),
        donated=_read_numbers(lists.get("bw_donated_idxs", "")),
        visible=metadata.count(_OUTPUT) if traced and not backward and metadata else None,
        symbols={match["name"]: match["size"] for match in _SIZE.finditer(printed)},
        ranges=ranges,
        threads=int(threads),
        tf32=asked.get("cuda_matmul_settings", "").startswith(_ROUNDED)
        or bool(_IN_CODE.search(code)),
        chosen=code if on_gpu and _TIMED.search(text) else "",
    )
    version = match[1] if (match := _VERSION.search(text)) else ""
    lowered = group[_AFTER].payload if _AFTER in group else ""
    return TracedGraph(group[_TEXT].compile_id, question, code, version, device, refusal, lowered)


def _read_inputs(text: str) -> str:
    return match["names"] if (match := _INPUTS.search(text)) else ""


def _is_backward(text: str) -> bool:
    return "tangents_" in _read_inputs(text)


def _read_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)))


def _read_key(group: Mapping[str, Event[Any]]) -> Iterator[tuple[str, str]]:
    """Yield the arguments of Inductor that are parts of the key of its cache."""
    if "answer" not in group:
        return
    (answer,) = read_cache_events(Trace([group["answer"]]))
    components = answer.data.get("components")
    for component in components if isinstance(components, list) else ():
        if match := _PART.match(str(component)):
            yield match["name"] or match["rounding"], match["value"]
