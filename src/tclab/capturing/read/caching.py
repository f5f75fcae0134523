"""Read which graphs PyTorch's caches can keep, and why they cannot keep the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclab.capturing.trace.events import Trace
from tclab.model import CacheResult, Graph, SourceLine
from tclab.text import user_lines
from tclab.text.scrub import scrub

# aotautograd_cache_bypass, fx_graph_cache_hit
_CACHE_EVENT = re.compile(r"(?P<cache>aotautograd|fx_graph)_cache_(?P<state>hit|miss|bypass)")
INDUCTOR = "Inductor"
_CACHES = {"aotautograd": "AOTAutograd", "fx_graph": INDUCTOR}
# Unsupported call_function target <function _enter_autocast at 0x7f00>.
#  Function module: torch.amp.autocast_mode,
# Function name: _enter_autocast
_UNCACHED_FUNCTION = re.compile(
    r"target (?P<target>.+?)\.? *\n *(?:Function|Method) module: (?P<module>\S*), *\n"
    r" *(?:Function|Method) name: (?P<name>\S+)"
)
# Can't cache HigherOrderOperator: cond
_UNCACHED_OPERATOR = re.compile(r"HigherOrderOperator:? (?P<name>\w+)")


def read_cachings(trace: Trace, graphs: Sequence[Graph]) -> tuple[CacheResult, ...]:
    """Return each cache's result for each graph. `graphs` are Dynamo's graphs, from which the
    user's lines come.
    """
    of_compile = {graph.compile_id: graph for graph in graphs}
    found = []
    for event in read_cache_events(trace):
        function = _UNCACHED_FUNCTION.search(event.reason)
        name = (function or _UNCACHED_OPERATOR.search(event.reason) or {"name": ""})["name"]
        reason = f"{function['module']}.{name}" if function else event.reason
        graph = of_compile.get(event.compile_id)
        line = _find_line(graph, name) if graph and name else None
        found.append(CacheResult(event.compile_id, event.cache, event.state, clean(reason), line))
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class CacheEvent:
    """A record of what a cache did with a graph; `data` are the fields of PyTorch's record."""

    compile_id: str
    cache: str  # AOTAutograd or Inductor
    state: str  # hit, miss or bypass
    data: Mapping[str, Any]

    @property
    def reason(self) -> str:
        """The reason, in PyTorch's words, why the cache does not keep the graph, or ''."""
        return str(self.data.get("cache_bypass_reason") or "")


def read_cache_events(trace: Trace) -> Iterator[CacheEvent]:
    """Yield what each cache did with each graph. A payload that is not a JSON object has no
    fields.
    """
    for event in trace.events:
        if match := _CACHE_EVENT.fullmatch(event.name):
            try:
                data = json.loads(event.payload or "{}")
            except ValueError:  # the log was cut off
                data = {}
            fields = data if isinstance(data, dict) else {}
            yield CacheEvent(event.compile_id, _CACHES[match["cache"]], match["state"], fields)


def clean(reason: str) -> str:
    """Return a reason in one line, without the addresses and paths of this machine."""
    return scrub(" ".join(reason.split()))


def _find_line(graph: Graph, name: str) -> SourceLine | None:
    """Return the line of the first node that calls the object named `name`. A node that enters a
    context manager has no line; then return the line of the first node inside it that has one.
    """
    found = (at for at, node in enumerate(graph.nodes) if node.target.rpartition(".")[2] == name)
    after = (node.source for node in graph.nodes[next(found, len(graph.nodes)) :])
    return next((s for s in after if s and user_lines.is_user_file(s.file)), None)
