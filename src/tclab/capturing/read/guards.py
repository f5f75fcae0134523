"""Read the guards of each cache entry from the guard tree in Dynamo's structured trace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.capturing.read.frames import Frame, files_by_short_name, frames_by_compile
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Guard, Guards, SourceLine
from tclab.text import redaction
from tclab.text.scrub import scrub

# | | +- EQUALS_MATCH: L['power'] == 2
_LINE = re.compile(r"^(?P<bars>(?:\| )*)\+- (?P<text>.*)$")
# GuardManager: source=L['self'].sizes, accessed_by=DictGetItemGuardAccessor('sizes')
_MANAGER = re.compile(r"\b\w*Manager: source=(?P<source>.+?), accessed_by=")
# TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()
_LEAF = re.compile(r"^(?P<type>[A-Z][A-Z0-9_]+)(?:: (?P<check>.*))?$")
# PyTorch shortens /reader/functions.py to eader/functions.py:
# ___check_type_id(L['self'].sizes, …), type=<class 'dict'>  # x = x * self.sizes["n"]  \
#     # eader/functions.py:35 in forward (HINT: type dict)
# utils_device.CURRENT_DEVICE == None    # _dynamo/output_graph.py:1122 in init_ambient_guards
_LOCATION = re.compile(
    r"^(?P<check>.*?)\s+# (?:(?P<code>.*?)\s+# )?"
    r"(?P<file>[^#]+?):(?P<line>\d+) in (?P<function>\S+)(?: \(.*)?$"  # an optional remark
)
# # _dynamo/output_graph.py:1122 in init_ambient_guards
_COMMENT = re.compile(r"# (?P<file>[^#\s]+\.py):(?P<line>\d+) in ", re.MULTILINE)


def read_guards(trace: Trace) -> tuple[Guards, ...]:
    """Return one `Guards` for each cache entry, in the order of compiling."""
    frames = frames_by_compile(trace)
    files = files_by_short_name(trace)
    return tuple(
        _read_entry(
            trace.stabilize(event.payload), index, event, frames.get(event.compile_id), files
        )
        for index, event in enumerate(trace.select("dynamo_cpp_guards_str"))
    )


def _read_entry(
    payload: str, index: int, event: Event[object], frame: Frame | None, files: dict[str, str]
) -> Guards:
    function = frame.function if frame else ""
    title = f"Guards of {function} ({event.compile_id})" if function else "Guards"
    tree = scrub(_clean_tree(payload, files))
    return Guards(
        title=title,
        name=f"guards-{index}",
        guards=tuple(_leaf_guards(tree)),
        compile_id=event.compile_id,
        function=function,
        tree=tree,
    )


def _clean_tree(payload: str, files: dict[str, str]) -> str:
    """Return the tree with full file names in its comments, without the measured latency, which
    differs from run to run.
    """
    lines = [line for line in payload.splitlines() if not line.startswith("Guard latency")]
    return restore_file_names("\n".join(lines).strip("\n") + "\n", files)


def restore_file_names(text: str, files: dict[str, str]) -> str:
    """Replace the file names in the comments of guards by full names, because PyTorch cuts them off
    at the left, and hide the values of environment variables.
    """

    def insert_full_name(match: re.Match[str]) -> str:
        file = scrub(files.get(match["file"], match["file"]))
        return f"# {file}:{match['line']} in "

    return _COMMENT.sub(insert_full_name, redaction.redact_guards(text))


def _leaf_guards(tree: str) -> Iterator[Guard]:
    sources: dict[int, str] = {}  # depth in the tree → the source of its last guard manager
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
            parent = max((d for d in sources if d < depth), default=None)
            source = "" if parent is None else sources[parent]
            yield _leaf_guard(leaf["type"], source, leaf["check"] or "")
        sources = {d: s for d, s in sources.items() if d <= depth}


def _leaf_guard(type_: str, source: str, check: str) -> Guard:
    where = _LOCATION.match(check)
    location = None
    if where:
        check = where["check"]
        code = where["code"] or ""
        location = SourceLine(where["file"], int(where["line"]), code, where["function"])
    return Guard(type_, source, (check.strip(),) if check else (), location)
