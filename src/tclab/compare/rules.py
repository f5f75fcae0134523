"""Define rules that turn two forms of the same computation into the same node of a data flow."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache

from tclab.compare.flow import LOAD, NOTHING, STORE, Flow, Operation, Rule, is_pointer
from tclab.compare.rewritings import OlderCall


def undo_newer_calls(*calls: OlderCall) -> Rule:
    """Return a rule that replaces newer calls by the older ones."""

    def rule(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
        names = [flow.nodes[each][0].name for each in operands]
        for call in () if operation.words else calls:
            if call.matches(operation.name, names):
                return flow.make_exactly(Operation(call.older), *operands[: call.kept_operands])
        return None

    return rule


_SIGNED_ZERO_OPERANDS = {"online_softmax_combine_with_sum": 6, "online_softmax_reduce": 5}


def drop_signed_zero_switch(
    flow: Flow, operation: Operation, operands: tuple[int, ...]
) -> int | None:
    """Drop ``strict_signed_zero=False``, the last operand of ``online_softmax_reduce``."""
    newer = _SIGNED_ZERO_OPERANDS.get(operation.name.rpartition(".")[2]) == len(operands)
    off = newer and _is_constant(flow, operands[-1], value=False)
    return flow.make_exactly(operation, *operands[:-1]) if off else None


def replace_reciprocal_root(
    flow: Flow, operation: Operation, operands: tuple[int, ...]
) -> int | None:
    """Replace ``1.0 / tl.sqrt_rn(x)`` by ``libdevice.rsqrt(x)``."""
    if operation.name != "Div" or not _is_constant(flow, operands[0], 1.0):
        return None
    below, inner = flow.nodes[operands[1]]
    return (
        flow.make_exactly(Operation("libdevice.rsqrt"), *inner)
        if below.name == "tl.sqrt_rn"
        else None
    )


def convert_numerator(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace the integer in ``1 / tl.sqrt_rn(x)`` by ``1.0``, as Triton does before it divides."""
    if operation.name != "Div" or flow.nodes[operands[1]][0].name != "tl.sqrt_rn":
        return None
    full, below = flow.nodes[operands[0]]
    if full != Operation("tl.full") or not _is_constant(flow, operands[0], 1):
        return None
    one = flow.make_exactly(Operation("Constant", ("1.0", "None"), 1.0))
    dtype = flow.make_exactly(Operation("tl.float32"))
    return flow.make(operation, flow.make_exactly(full, below[0], one, dtype), operands[1])


def drop_factor_one(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x * 1.0`` by ``x``."""
    rest = [each for each in operands if not _is_constant(flow, each, 1.0)]
    return rest[0] if operation.name == "Mult" and len(rest) == 1 else None


def expand_fma(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``tl.fma(a, b, c)`` by ``a * b + c``."""
    if operation != Operation("tl.fma"):
        return None
    return flow.make(Operation("Add"), flow.make(Operation("Mult"), *operands[:2]), operands[2])


def drop_float64_test(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x.dtype is tl.float32 or x.dtype is tl.float64`` by the part before ``or``."""
    if operation != Operation("BoolOp", ("Or",)) or len(operands) != 2:
        return None
    (one, first), (two, second) = (flow.nodes[each] for each in operands)
    types = [flow.nodes[each[-1]][0].name for each in (first, second) if each]
    same = one == two == Operation("Compare", ("Is",)) and first[0] == second[0]
    return operands[0] if same and types == ["tl.float32", "tl.float64"] else None


def drop_barrier(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove ``tl.debug_barrier()``."""
    return flow.make_exactly(Operation(NOTHING)) if operation.name == "tl.debug_barrier" else None


def drop_eviction_hint(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove the hint from ``tl.load(…, eviction_policy='evict_first')``."""
    named = operation.name in (LOAD, STORE)
    return _drop_word(flow, operation, operands, "eviction_policy") if named else None


def drop_tf32(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove the permission from ``tl.dot(a, b, allow_tf32=True)``."""
    named = operation.name == "tl.dot"
    return _drop_word(flow, operation, operands, "allow_tf32") if named else None


def _drop_word(
    flow: Flow, operation: Operation, operands: tuple[int, ...], word: str
) -> int | None:
    words = operation.words
    if word not in words:
        return None
    at = len(operands) - len(words) + words.index(word)
    rest = tuple(each for each in words if each != word)
    return flow.make(operation._replace(words=rest), *operands[:at], *operands[at + 1 :])


def ignore_buffer_name(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove the name of the buffer from a store, so that stores to different buffers are equal."""
    if operation.name != STORE:
        return None
    address, below = flow.nodes[operands[0]]
    pointers = [each for each in below if is_pointer(flow.nodes[each][0])]
    if not pointers:
        return None
    to = (flow.make_exactly(Operation("a buffer")) if each in pointers else each for each in below)
    return flow.make_exactly(operation, flow.make_exactly(address, *to), *operands[1:])


_INTEGER_TYPES = {"tl.int32", "tl.int64"}
_INDEX_OPERATORS = {"Add", "Mult", "Sub", "USub", "FloorDiv", "Mod"}
# XBLOCK, r0_offset, r0_index, r0__0, tl.program_id, tl.arange
_INDEX_NAME = re.compile(
    r"[XYZ]BLOCK|R\d_BLOCK|[xyzr]\d?_?(offset|numel|index|base|_?\d+)|tl\.(program_id|arange)"
)


def drop_index_type(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x_0.to(tl.int32)`` by ``x_0`` if ``x_0`` is an index, because its value does not
    change. Drop a second conversion to the same type.
    """
    if operation != Operation(".to") or len(operands) != 2:
        return None
    inner, below = flow.nodes[operands[0]]
    if inner == operation and below[1] == operands[1]:
        return operands[0]
    if flow.nodes[operands[1]][0].name not in _INTEGER_TYPES:
        return None
    return operands[0] if _is_index(flow, operands[0]) else None


def _is_index(flow: Flow, node: int) -> bool:
    """Return whether a node is computed only from offsets, sizes and whole numbers."""
    operation, operands = flow.nodes[node]
    if operation == Operation("tl.full"):
        return flow.nodes[operands[2]][0].name in _INTEGER_TYPES
    if operation.name in _INDEX_OPERATORS or operation.name == "Compare":
        return all(_is_index(flow, each) for each in operands)
    if operation.name == "Subscript":
        return _is_index(flow, operands[0])
    return type(operation.value) is int or bool(_INDEX_NAME.fullmatch(operation.name))


def drop_negative_index(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``tl.where(x < 0, x + 512, x)``, which allows an index from the end, by ``x``. Drop
    the message of an assertion, because it names values.
    """
    if operation.name == "tl.device_assert" and len(operands) > 1:
        return flow.make_exactly(operation, operands[0])
    if operation != Operation("tl.where"):
        return None
    (test, compared), (added, terms) = (flow.nodes[each] for each in operands[:2])
    wraps = test == Operation("Compare", ("Lt",)) and _is_constant(flow, compared[1], 0)
    index = operands[2]
    return (
        index if wraps and compared[0] == index and added.name == "Add" and index in terms else None
    )


def drop_full_mask(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Drop the mask of a reduction whose block has exactly the size of the row. The mask ``r0_index
    < r0_numel`` with ``r0_index = tl.arange(0, 512)`` and ``r0_numel = 512`` is true everywhere.
    """
    if operation == Operation("Compare", ("Lt",)) and _is_within_block(flow, *operands):
        return flow.make_exactly(_TRUE)
    if operation == Operation("tl.full") and _is_constant(flow, operands[1], value=True):
        return flow.make_exactly(_TRUE)
    everywhere = [flow.nodes[each][0] == _TRUE for each in operands]
    if operation.name == "Subscript" and everywhere[0]:
        return operands[0]
    if operation == Operation("BitAnd") and any(everywhere):
        return operands[everywhere[0]]
    if operation == Operation("tl.where") and everywhere[0]:
        return operands[1]
    if operation.name in (LOAD, STORE) and len(operands) > 1 and True in everywhere:
        return _drop_mask(flow, operation, operands, everywhere.index(True))
    return None


_TRUE = Operation("true")


def _is_within_block(flow: Flow, index: int, size: int) -> bool:
    """Return whether an index is ``tl.arange(0, size)``, whatever dimensions it has."""
    while flow.nodes[index][0].name == "Subscript":
        index = flow.nodes[index][1][0]
    return flow.nodes[index][0].name == "tl.arange" and flow.nodes[index][1][1] == size


def _drop_mask(flow: Flow, operation: Operation, operands: tuple[int, ...], mask: int) -> int:
    """Replace the mask by None, and drop the value for masked elements."""
    values = [flow.make_exactly(Operation("Constant", ("None",))) if at == mask else each
              for at, each in enumerate(operands)]  # fmt: skip
    words = operation.words
    if "other" in words:
        values.pop(len(values) - len(words) + words.index("other"))
        words = tuple(word for word in words if word != "other")
    return flow.make(operation._replace(words=words), *values)


def fill_by_load(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``tl.where(x < n, load, fill)`` by the load with ``other=fill``, so that the load
    itself fills the elements outside. For padding, the fill value is in a second ``tl.where(x >= n,
    fill, 0.0)``.
    """
    if operation.name == LOAD and "other" in operation.words:
        at = len(operands) - len(operation.words) + operation.words.index("other")
        fill = _as_fill(flow, operands[at])
        if fill is None or fill == operands[at]:
            return None
        return flow.make(operation, *operands[:at], fill, *operands[at + 1 :])
    if operation != Operation("tl.where"):
        return None
    test, inside, outside = operands
    below, others = flow.nodes[outside]
    if below == operation and _is_opposite(flow, test, others[0]):
        filled = _as_fill(flow, others[1])
        return flow.make(operation, test, inside, others[1] if filled is None else filled)
    below, others = flow.nodes[inside]
    fill = None if _has_named_type(flow, outside) else _as_fill(flow, outside)
    if fill is None:
        return None
    if below == operation and others[0] == test:
        return flow.make(operation, test, others[1], fill)
    if below.name == LOAD and "other" in below.words and _mask_includes_test(flow, others[1], test):
        at = len(others) - len(below.words) + below.words.index("other")
        return flow.make(below, *others[:at], fill, *others[at + 1 :])
    return flow.make(operation, test, inside, fill) if fill != outside else None


def _as_fill(flow: Flow, node: int) -> int | None:
    """Return the node of a number as a float. For a block filled with one number, return the node
    of this number.
    """
    operation, operands = flow.nodes[node]
    if operation == Operation("tl.full"):
        return _as_fill(flow, operands[1])
    if type(operation.value) not in (int, float):
        return None
    number = float(str(operation.value))
    return flow.make_exactly(Operation("Constant", (str(number),), number))


def _has_named_type(flow: Flow, node: int) -> bool:
    """Return whether the type of a block is written as a name, ``tl.float32``, and not as the type
    of a value, ``x.dtype``.
    """
    operation, operands = flow.nodes[node]
    return operation == Operation("tl.full") and flow.nodes[operands[2]][0].name.startswith("tl.")


def _is_opposite(flow: Flow, test: int, other: int) -> bool:
    """Return whether the tests are ``x < n`` and ``x >= n``."""
    (one, below), (two, others) = flow.nodes[test], flow.nodes[other]
    return (one.words, two.words) == (("Lt",), ("GtE",)) and below == others


def _mask_includes_test(flow: Flow, mask: int, test: int) -> bool:
    """Return whether a mask is the test, or the test combined with others by ``and``."""
    operation, operands = flow.nodes[mask]
    joined = operands if operation == Operation("BitAnd") else ()
    return mask == test or any(_mask_includes_test(flow, each, test) for each in joined)


_SAMPLES = 32
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "Mult": int.__mul__,
    "FloorDiv": int.__floordiv__,
    "Mod": int.__mod__,
}


def evaluate_index(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace an index by its values at some samples of its variables, so that equivalent indices
    such as ``x0%64`` and ``16*((x0//16)%4) + x0%64%16`` become equal.
    """
    if operation.name not in (LOAD, STORE):
        return None
    address, below = flow.nodes[operands[0]]
    if address.name != "Add" or flow.nodes[below[1]][0].name == "index":
        return None
    try:
        values = _evaluate_at_samples(flow, below[1])
    except ZeroDivisionError:
        return None
    index = flow.make_exactly(Operation("index", tuple(map(str, values))))
    return flow.make(operation, flow.make_exactly(address, below[0], index), *operands[1:])


def _evaluate_at_samples(flow: Flow, node: int) -> tuple[int, ...]:
    """Evaluate an index with pseudo-random values for each variable."""
    operation, operands = flow.nodes[node]
    if operation.name in _ARITHMETIC:
        values = (_evaluate_at_samples(flow, each) for each in operands)
        return tuple(map(_ARITHMETIC[operation.name], *values))
    if isinstance(operation.value, int) and not isinstance(operation.value, bool):
        return (operation.value,) * _SAMPLES
    return _sample_variable(flow.digest(node))


@cache
def _sample_variable(digest: str) -> tuple[int, ...]:
    """Return pseudo-random values for a variable; equal digests have equal values."""
    seeds = (f"{digest} {sample}" for sample in range(_SAMPLES))
    return tuple(random.Random(seed).randrange(1 << 20) for seed in seeds)


def _is_constant(flow: Flow, node: int, value: object) -> bool:
    """Return whether a node is this constant, or a block filled with it."""
    operation, operands = flow.nodes[node]
    if operation == Operation("tl.full"):
        return _is_constant(flow, operands[1], value)
    return type(operation.value) is type(value) and operation.value == value
