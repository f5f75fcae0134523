"""Undo calls that a newer PyTorch writes in another way with the same meaning."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class OlderCall:
    """A call in an older PyTorch, and the newer call with the same meaning. `older` takes the first
    `kept_operands` operands of `newer`. If `last_operand` is set, the newer call has it as one
    further, last operand.
    """

    newer: str
    older: str
    kept_operands: int
    last_operand: str = ""

    def matches(self, function: str, operands: list[str]) -> bool:
        """Return whether a call is the newer one; `newer` without a module matches any module."""
        if self.newer not in (function, function.rpartition(".")[2]):
            return False
        return not self.last_operand or (
            len(operands) == self.kept_operands + 1 and operands[-1] == self.last_operand
        )


#: ``tl.maximum(a, b, tl.PropagateNan.ALL)`` was ``triton_helpers.maximum(a, b)`` before 2.14.
EXTREMA = tuple(
    OlderCall(f"tl.{name}", f"triton_helpers.{name}", 2, "tl.PropagateNan.ALL")
    for name in ("maximum", "minimum")
)
#: Rewritings under which two kernels count as the same, by name.
REWRITINGS = {"maximum and minimum without a helper": EXTREMA}


@cache  # this is called twice for each kernel: to find its partner, and to compare
def older_body(body: str) -> tuple[str, tuple[str, ...]]:
    """Return a Triton kernel's body in the oldest known form, and the names of the undone
    rewritings.
    """
    tree = _RewritingUndoer()
    text = ast.unparse(ast.fix_missing_locations(tree.visit(ast.parse(body))))
    return text, tuple(dict.fromkeys(tree.names))


class _RewritingUndoer(ast.NodeTransformer):
    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function, operands = ast.unparse(node.func), list(map(ast.unparse, node.args))
        for name, calls in REWRITINGS.items():
            for call in calls:
                if call.matches(function, operands):
                    self.names.append(name)
                    older = ast.parse(call.older, mode="eval").body
                    return ast.Call(older, node.args[: call.kept_operands], [])
        return node
