"""Annotate the user's functions that took part in a compile."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tclab.explain import notes as lines_of
from tclab.model import Annotated, Chain, LineNote, Listing, SourceLine, links, slug, source_lines
from tclab.text import spans, user_lines
from tclab.text.scrub import scrub
from tclab.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from tclab.capturing import Capture
    from tclab.model import Breaks, Finding

#: File name as in artifacts → line → the graphs that contain the line.
CompiledLines = dict[str, dict[int, list[str]]]


def compiled_lines(chains: Sequence[Chain]) -> CompiledLines:
    """Map (file, line) of each of the user's lines from which a Dynamo node came to the graphs that
    contain the node.
    """
    graphs: CompiledLines = defaultdict(lambda: defaultdict(list))
    for number, chain in enumerate(chains):
        keys = (
            key for pane in chain.panes if pane.stage == "dynamo" for key in _list_origins(pane)
        )
        for place in filter(None, map(links.parse_python_key, dict.fromkeys(keys))):
            file, line = place
            graphs[file][line].append(str(number))
    return graphs


def _list_origins(dynamo: Listing) -> Iterator[str]:
    """Yield the link keys of a Dynamo graph's nodes, except its output, whose line is where the
    graph ends.
    """
    code = source_lines(dynamo.code)
    for line, keys in dynamo.links.items():
        if not code[line - 1].lstrip().startswith("return "):
            yield from keys


def annotate_sources(
    capture: Capture, chains: Sequence[Chain], subject: Callable[..., object], breaks: Breaks,
    findings: Sequence[Finding], marks: Sequence[Finding] = (),
) -> tuple[Annotated, ...]:  # fmt: skip
    """Return each function that took part, with its notes; the subject's own function comes
    first.
    """
    notes, compiled = lines_of.notes(capture, breaks, findings, marks), compiled_lines(chains)
    lines_by_file: dict[str, set[int]] = defaultdict(set)
    start = _find_start(subject)
    for place in (*start, *_list_places(capture)):
        lines_by_file[place.file].add(place.line)
    for file, graphs in compiled.items():
        lines_by_file[file].update(graphs)
    paths, functions = files(), []
    for file, lines in lines_by_file.items():
        if (path := paths.get(file)) and user_lines.is_user_file(file):
            functions += _annotate_functions(
                file, path, lines, notes.get(file, []), compiled.get(file, {})
            )
    return tuple(
        sorted(functions, key=lambda each: not any(_contains(each, place) for place in start))
    )


def _contains(source: Annotated, place: SourceLine) -> bool:
    last = source.first_line + source.code.count("\n")
    return source.filename == place.file and source.first_line <= place.line < last


def _list_places(capture: Capture) -> Iterator[SourceLine]:
    """Yield each of the user's lines that a break, recompile, symbol or guard names, or where a
    frame begins.
    """
    for item in capture.breaks:
        yield from (*item.stack, *((item.location,) if item.location else ()))
    others = (*capture.recompiles, *capture.symbols, *(g for of in capture.guards for g in of))
    yield from (item.location for item in others if item.location is not None)
    yield from lines_of.starts(capture).values()


def _find_start(subject: Callable[..., object]) -> tuple[SourceLine, ...]:
    """Return the first line of the function that runs when the subject is called."""
    function = getattr(subject, "forward", subject)
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    return (SourceLine(scrub(code.co_filename), code.co_firstlineno),) if code else ()


def files() -> dict[str, str]:
    """Map each imported module's file, as artifacts name it, to its path."""
    paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {scrub(path): path for path in paths if isinstance(path, str) and path.endswith(".py")}


def _annotate_functions(file: str, path: str, lines: set[int], notes: Sequence[LineNote],
               compiled: dict[int, list[str]]) -> list[Annotated]:  # fmt: skip
    """Return the functions around `lines`. `compiled` maps a line to the graphs that contain it."""
    text = linecache.getlines(path)
    return [
        _annotate_span(file, span, text, notes, compiled)
        for span in spans.enclosing_functions("".join(text), lines)
        if span.first <= len(text)
    ]


def _annotate_span(file: str, span: Span, text: list[str], notes: Sequence[LineNote],
               compiled: dict[int, list[str]]) -> Annotated:  # fmt: skip
    code = "".join(text[span.first - 1 : span.last])
    inside = {line: tuple(of) for line, of in compiled.items() if span.first <= line <= span.last}
    return Annotated(
        title=span.name or file,
        name=f"source-{slug(span.name or 'module')}-{span.first}",
        code=code if code.endswith("\n") else code + "\n",
        language="python",
        stage="python",
        filename=file,
        first_line=span.first,
        notes=tuple(n for n in notes if span.first <= n.line <= span.last),
        compiled={line - span.first + 1: of for line, of in inside.items()},
    )
