"""Guards of each cache entry, from the guard tree Dynamo writes to the structured trace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.model import Guard, Guards, SourceLine
from tclab.scrub import scrub
from tclab.stages.frames import Frame, frames
from tclab.stages.trace import Event, Trace

_LINE = re.compile(r"^(?P<bars>(?:\| )*)\+- (?P<text>.*)$")
_MANAGER = re.compile(r"\b\w*Manager: source=(?P<source>.+?), accessed_by=")
_LEAF = re.compile(r"^(?P<type>[A-Z][A-Z0-9_]+)(?:: (?P<check>.*))?$")
_WHERE = re.compile(
    r"^(?P<check>.*?)\s+# (?:(?P<code>.*?)\s+# )?"
    r"(?P<file>[^#]+?):(?P<line>\d+) in (?P<function>\S+)$"
)


def guards(trace: Trace) -> tuple[Guards, ...]:
    """One Guards for each cache entry made, in order."""
    of = frames(trace)
    files = {frame.file for frame in of.values()}
    return tuple(
        _guards(event, index, of.get(event.compile_id), files)
        for index, event in enumerate(trace.named("dynamo_cpp_guards_str"))
    )


def _guards(event: Event, index: int, frame: Frame | None, files: set[str]) -> Guards:
    function = frame.function if frame else ""
    title = f"Guards of {function} ({event.compile_id})" if function else "Guards"
    tree = _tree(event.payload)
    return Guards(
        title=title,
        name=f"guards-{index}",
        guards=tuple(_leaves(tree, files)),
        compile_id=event.compile_id,
        function=function,
        tree=scrub(tree),
    )


def _tree(payload: str) -> str:
    """The tree without the measured latency, which differs from run to run."""
    kept = [line for line in payload.splitlines() if not line.startswith("Guard latency")]
    return "\n".join(kept).strip("\n") + "\n"


def _leaves(tree: str, files: set[str]) -> Iterator[Guard]:
    sources: dict[int, str] = {}  # depth → source of the manager there
    for line in tree.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        depth, text = len(match["bars"]), match["text"]
        if manager := _MANAGER.search(text):
            sources[depth] = manager["source"]
        elif text.startswith("RootGuardManager"):
            sources = {depth: ""}
        elif leaf := _LEAF.match(text):
            above = max((d for d in sources if d < depth), default=None)
            source = "" if above is None else sources[above]
            yield _guard(leaf["type"], source, leaf["check"] or "", files)
        sources = {d: s for d, s in sources.items() if d <= depth}


def _guard(type_: str, source: str, check: str, files: set[str]) -> Guard:
    where = _WHERE.match(check)
    location = None
    if where:
        check = where["check"]
        location = SourceLine(
            _full(where["file"], files), int(where["line"]), scrub(where["code"] or ""),
            where["function"],
        )  # fmt: skip
    return Guard(type_, scrub(source), (scrub(check.strip()),) if check else (), location)


def _full(short: str, files: set[str]) -> str:
    """PyTorch prints the last two parts of a path; the one file of this capture that ends so."""
    matches = {file for file in files if file == short or file.endswith("/" + short)}
    if len(matches) == 1:
        return scrub(matches.pop())
    return f"torch/{short}" if short.startswith(("_dynamo/", "_inductor/")) else short
