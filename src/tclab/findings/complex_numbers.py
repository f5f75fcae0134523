"""Define the rule on complex numbers, for which Inductor generates no code."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.findings.evidence import Evidence
from tclab.model import Cost, Finding, Graph, Node

_MOST_PLACES = 3
#: The beginnings of the names of operators that Inductor never fuses with another operator, whether
#: the numbers are real or complex.
_NEVER_FUSED = (
    "_fft", "linalg", "_linalg", "mm", "bmm", "addmm", "baddbmm", "mv", "dot", "vdot",
    "convolution", "view_as", "real", "imag", "_conj", "conj", "resolve_conj",
)  # fmt: skip
_USE_REAL_NUMBERS = (
    "Compute with the real and the imaginary part, which torch.view_as_real gives without a copy; "
    "for a rotation keep cos and sin in place of torch.polar. (Not tried.)"
)


def find_complex_numbers(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if operators are calls of their own because they take or return complex
    numbers.
    """
    called = {row.name for row in evidence.kernels if row.category == "extern"}
    nodes = [
        node
        for graph in evidence.post_grad
        for node in _complex_nodes(graph)
        if _called_name(node) in called
    ]
    fusible = [node for node in nodes if not _operator(node).startswith(_NEVER_FUSED)]
    if not fusible:
        return
    names = ", ".join(dict.fromkeys(map(_operator, fusible)))
    yield Finding(
        "complex-numbers",
        f"on complex numbers, each of these operators is a call of its own: {names}",
        tuple(dict.fromkeys(node.source for node in fusible if node.source))[:_MOST_PLACES],
        Cost(len(nodes), "operator a call", "counted"),
        (_USE_REAL_NUMBERS,),
        "kernels",
    )


def _complex_nodes(graph: Graph) -> Iterator[Node]:
    """Yield the operators that take or return complex numbers."""
    is_complex = {node.name for node in graph.nodes if node.dtype.startswith("c")}
    for node in graph.nodes:
        if node.op == "call_function" and not is_complex.isdisjoint((node.name, *node.inputs)):
            yield node


def _called_name(node: Node) -> str:
    """Return the name under which the table of kernels lists the call of an operator."""
    return node.target if node.target.startswith("torch.ops.") else f"torch.ops.{node.target}"


def _operator(node: Node) -> str:
    """Return the name of an operator without its overload: ``mul``."""
    return _called_name(node).removeprefix("torch.ops.").split(".")[1]


RULES = (find_complex_numbers,)
