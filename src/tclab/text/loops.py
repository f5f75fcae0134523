"""Find the loops of a Python file."""

from __future__ import annotations

import ast
import functools

from tclab.text.spans import Span

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


@functools.lru_cache(maxsize=16)  # a file is asked for once for each of its graphs
def list_outermost_loops(source: str) -> tuple[Span, ...]:
    """Return the lines of the loops that are in no other loop; none for text that is not Python.
    Lines of a function that is defined in a loop belong to this loop.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    spans = [
        Span(node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, _LOOPS)
    ]
    outermost: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.first, -span.last)):
        if not outermost or span.last > outermost[-1].last:
            outermost.append(span)
    return tuple(outermost)
