"""Guards of each cache entry, from the guard tree Dynamo writes to the structured trace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab import redaction
from tclab.capturing.read.frames import Frame, frames
from tclab.capturing.torch_private import compiler
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Guard, Guards, SourceLine
from tclab.scrub import scrub

# | | +- EQUALS_MATCH: L['power'] == 2
_LINE = re.compile(r"^(?P<bars>(?:\| )*)\+- (?P<text>.*)$")
# GuardManager: source=L['self'].sizes, accessed_by=DictGetItemGuardAccessor('sizes')
_MANAGER = re.compile(r"\b\w*Manager: source=(?P<source>.+?), accessed_by=")
# TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()
_LEAF = re.compile(r"^(?P<type>[A-Z][A-Z0-9_]+)(?:: (?P<check>.*))?$")
# ___check_type_id(L['self'].sizes, …), type=<class 'dict'>  # x = x * self.sizes["n"]  \
#     # eader/functions.py:35 in forward (HINT: type dict)
# utils_device.CURRENT_DEVICE == None    # _dynamo/output_graph.py:1122 in init_ambient_guards
_WHERE = re.compile(
    r"^(?P<check>.*?)\s+# (?:(?P<code>.*?)\s+# )?"
    r"(?P<file>[^#]+?):(?P<line>\d+) in (?P<function>\S+)(?: \(.*)?$"  # then a hint, or who asked
)
# # _dynamo/output_graph.py:1122 in init_ambient_guards
_COMMENT = re.compile(r"# (?P<file>[^#\s]+\.py):(?P<line>\d+) in ", re.MULTILINE)


def guards(trace: Trace) -> tuple[Guards, ...]:
    """One Guards for each cache entry made, in order."""
    of = frames(trace)
    files = compiler.shortened({frame.file for frame in of.values()})
    return tuple(
        _guards(trace.stable(event.payload), index, event, of.get(event.compile_id), files)
        for index, event in enumerate(trace.named("dynamo_cpp_guards_str"))
    )


def _guards(
    payload: str, index: int, event: Event[object], frame: Frame | None, files: dict[str, str]
) -> Guards:
    function = frame.function if frame else ""
    title = f"Guards of {function} ({event.compile_id})" if function else "Guards"
    tree = _tree(payload, files)
    return Guards(
        title=title,
        name=f"guards-{index}",
        guards=tuple(_leaves(tree)),
        compile_id=event.compile_id,
        function=function,
        tree=scrub(tree),
    )


def _tree(payload: str, files: dict[str, str]) -> str:
    """The tree without the measured latency, which differs from run to run, and with the
    files of comments, which PyTorch cuts at the left, named like everywhere else.
    """
    lines = [line for line in payload.splitlines() if not line.startswith("Guard latency")]
    return whole_files("\n".join(lines).strip("\n") + "\n", files)


def whole_files(text: str, files: dict[str, str]) -> str:
    """The text of guards with the files that comments name, which PyTorch cuts at the left, in
    full; and without values of environment variables.
    """

    def whole(match: re.Match[str]) -> str:
        file = scrub(files.get(match["file"], match["file"]))
        return f"# {file}:{match['line']} in "

    return _COMMENT.sub(whole, redaction.guards(text))


def _leaves(tree: str) -> Iterator[Guard]:
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
            yield _guard(leaf["type"], source, leaf["check"] or "")
        sources = {d: s for d, s in sources.items() if d <= depth}


def _guard(type_: str, source: str, check: str) -> Guard:
    where = _WHERE.match(check)
    location = None
    if where:
        check = where["check"]
        file, code = scrub(where["file"]), scrub(where["code"] or "")
        location = SourceLine(file, int(where["line"]), code, where["function"])
    return Guard(type_, scrub(source), (scrub(check.strip()),) if check else (), location)
