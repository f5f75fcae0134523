"""Ways in which a newer PyTorch writes what an older one wrote, with the same meaning."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Rewriting:
    """`older` makes the older form of a call, or None where the call is not of this rewriting.

    `name` is what is said of it; `since` the first PyTorch that writes the newer form.
    """

    name: str
    since: str
    older: Callable[[ast.Call], ast.Call | None]


def _extremum(call: ast.Call) -> ast.Call | None:
    """``tl.maximum(a, b, tl.PropagateNan.ALL)`` was ``triton_helpers.maximum(a, b)``."""
    function = ast.unparse(call.func)
    if function not in {"tl.maximum", "tl.minimum"} or len(call.args) != 3:
        return None
    if ast.unparse(call.args[2]) != "tl.PropagateNan.ALL":
        return None
    helper = ast.parse(f"triton_helpers.{function[3:]}", mode="eval").body
    return ast.Call(helper, call.args[:2], [])


REWRITINGS = (Rewriting("maximum and minimum without a helper", "2.14", _extremum),)


class _Older(ast.NodeTransformer):
    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        for rewriting in REWRITINGS:
            if older := rewriting.older(node):
                self.names.append(rewriting.name)
                return older
        return node


@cache  # asked of each kernel, to find its like and to compare it
def older(body: str) -> tuple[str, tuple[str, ...]]:
    """A Triton kernel's body in the oldest form known, and the rewritings that were undone."""
    tree = _Older()
    text = ast.unparse(ast.fix_missing_locations(tree.visit(ast.parse(body))))
    return text, tuple(dict.fromkeys(tree.names))
