"""Count the operations of the products in a graph, with the formulas of PyTorch's flop counter.

``torch.utils.flop_counter`` counts a multiply-add as two. For a causal attention the result is
reduced: the formula counts all scores, but the kernels compute only the lower triangle.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tclab.capturing.read.sizes import Sizes
from tclab.capturing.read.views import VIEWS
from tclab.model import Node

if TYPE_CHECKING:
    import torch

# torch.ops.aten.mm.default
_OPERATOR = re.compile(r"torch\.ops\.((?:higher_order\.)?\w+(?:\.\w+)?)")
#: The operands' dtype → the format whose rate applies.
_RATES = {
    "f64": "f64", "c128": "f64", "f32": "f32", "c64": "f32", "f16": "f16", "bf16": "f16",
    "i8": "i8", "u8": "i8",
}  # fmt: skip
#: A product for which PyTorch has no formula → the operator whose formula applies.
_SAME_FORMULA = {"aten._int_mm": "aten.mm"}
#: Operators of ATen that may multiply matrices, for which PyTorch has no formula.
# aten.mm
_MAY_MULTIPLY = re.compile(
    r"mm(_|$)|linear(_|$)|attention|transformer|rnn|lstm|gru|conv\d|convolution|linalg|solve"
    r"|cholesky|einsum"
)


#: Operators that convert to another dtype.
CONVERSIONS = frozenset({"prims.convert_element_type", "aten._to_copy"})


class UnknownSize(Exception):
    """Raised if a formula needs a size that is not known."""


class Operations:
    """Counts operations in one graph. `precisions` maps ``matmul`` and ``conv`` to PyTorch's
    setting for float32: ``tf32``, or anything else for the full precision.
    """

    def __init__(
        self, nodes: Iterable[Node], sizes: Sizes, precisions: Mapping[str, str] | None = None
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.sizes = sizes
        self.precisions = precisions or {}
        self._parts: dict[str, dict[int, Node]] = {}
        for node in self.nodes.values():
            # getitem = convolution_backward[0]
            if node.target == "operator.getitem" and node.inputs:
                self._parts.setdefault(node.inputs[0], {})[int(node.args.split(", ")[-1])] = node

    def count(self, nodes: Iterable[Node]) -> tuple[int | None, str]:
        """Return the number of operations of these nodes, and the format of the operands of the
        largest product. Without a product return (0, ""). The number is None if a size is not
        known.
        """
        counted = [(node, self._count_operations(node)) for node in nodes if is_product(node)]
        if not counted:
            return 0, ""
        known = [(count, node) for node, count in counted if count is not None]
        largest = max(known, key=lambda pair: pair[0])[1] if known else counted[0][0]
        total = sum(count for count, _ in known) if len(known) == len(counted) else None
        return total, self._find_rate(largest)

    def _count_operations(self, node: Node) -> int | None:
        name = operator_name(node)
        formula = _load_formulas().get(_SAME_FORMULA.get(name, name))
        if formula is None:
            return None
        try:
            args, kwargs = self._read_arguments(node)
            operations = int(formula(*args, **kwargs, out_val=self._make_result(node)))
            computed, scores = _computed_scores(name, args, kwargs)
            return operations * computed // scores
        except Exception:  # a formula asserts what it requires of its arguments
            return None

    def _find_rate(self, node: Node) -> str:
        operands = [self.nodes[name] for name in node.inputs if name in self.nodes]
        dtype = next((o.dtype for o in operands if o.shape and o.dtype), "")
        rate = "f8" if dtype.startswith("f8") else _RATES.get(dtype, "")
        if rate != "f32":
            return rate
        name = operator_name(node)
        if "attention" in name:  # CUTLASS computes it as three products in TF32
            return "tf32"
        kind = "conv" if "conv" in name else "matmul"
        return "tf32" if self.precisions.get(kind) == "tf32" else "f32"

    def find_upcast(self, nodes: Iterable[Node]) -> str:
        """Return the dtype of fewer bits from which all matrices of the products among these nodes
        were converted; '' if one was computed in float32.
        """
        products = filter(is_product, nodes)
        operands = [self.nodes[n] for each in products for n in each.inputs if n in self.nodes]
        matrices = [each for each in operands if each.shape is not None and len(each.shape) > 1]
        dtypes = {self._dtype_before(each) for each in matrices}
        return dtypes.pop() if len(dtypes) == 1 else ""

    def _dtype_before(self, node: Node) -> str:
        """Return the 16-bit dtype from which a value was converted, through views; else ''."""
        while node.inputs and node.inputs[0] in self.nodes:
            name, before = operator_name(node), self.nodes[node.inputs[0]]
            if name in CONVERSIONS:
                return before.dtype if before.dtype in ("f16", "bf16") else ""
            if name not in VIEWS:
                break
            node = before
        return ""

    # ---------------------------------------------------------------- a formula's arguments

    def _read_arguments(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a node's call; tensors have no data."""
        call = ast.parse(f"call({node.args})", mode="eval").body
        assert isinstance(call, ast.Call)
        keywords = {k.arg: self._read_argument(k.value) for k in call.keywords if k.arg}
        return [self._read_argument(argument) for argument in call.args], keywords

    def _read_argument(self, value: ast.expr) -> Any:
        if isinstance(value, ast.Name) and value.id in self.nodes:
            return self._make_tensor(self.nodes[value.id])
        if isinstance(value, (ast.List, ast.Tuple)):
            return [self._read_argument(element) for element in value.elts]
        if isinstance(value, ast.Constant):
            return value.value
        # a number such as -1; None for a dtype or a device
        return self.sizes.number(ast.unparse(value))

    def _make_result(self, node: Node) -> Any:
        parts = self._parts.get(node.name)
        if parts is None:
            return self._make_tensor(node)
        return tuple(
            self._make_tensor(parts[number]) if number in parts else None
            for number in range(max(3, max(parts) + 1))  # a convolution's backward has three parts
        )

    def _make_tensor(self, node: Node) -> torch.Tensor | None:
        if node.shape is None:
            return None
        shape = self.sizes.shape(node)
        if shape is None:
            raise UnknownSize(node.name)
        import torch

        return torch.empty(shape, device="meta")


def operator_name(node: Node) -> str:
    """Return ``aten.mm`` for a call of ``torch.ops.aten.mm.default``; '' for no operator."""
    match = _OPERATOR.match(node.target)
    return match[1] if match else ""


def is_product(node: Node) -> bool:
    """Return whether the node is, or may contain, a matrix product, a convolution or an attention.
    An operator outside of ATen may contain one, and so may an operator whose mask decides the
    number of scores.
    """
    name = operator_name(node)
    if not name or _SAME_FORMULA.get(name, name) in _load_formulas():
        return bool(name)
    return not name.startswith(("aten.", "prims.")) or bool(_MAY_MULTIPLY.search(name))


def _computed_scores(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, int]:
    """Return (computed scores, all scores) of an attention; (1, 1) if it computes all scores."""
    if "attention" not in name:
        return 1, 1
    import torch

    schema = getattr(torch.ops.aten, name.partition(".")[2]).default._schema
    bound = dict(zip((argument.name for argument in schema.arguments), args)) | dict(kwargs)
    if not bound.get("is_causal"):
        return 1, 1
    queries, keys = bound["query"].shape[-2], bound["key"].shape[-2]
    return sum(min(row + 1, keys) for row in range(queries)), queries * keys


@cache
def _load_formulas() -> dict[str, Callable[..., Any]]:
    from torch.utils.flop_counter import flop_registry

    return {str(operator): formula for operator, formula in flop_registry.items()}
