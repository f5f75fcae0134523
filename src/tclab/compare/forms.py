"""List code forms that differ between versions of PyTorch, and how each can change results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tclab.compare.flow import LOAD, NOTHING, STORE, Flow, Operation, Rule, is_pointer
from tclab.compare.rewritings import EXTREMA, OlderCall

#: How a cause can change results, from the least to the most harmful effect.
NO, BY_TRITON, NAN = "no", "not by PyTorch's code", "of a row with NaN"
LAST_BITS, UNKNOWN, YES = "the last bits", "not known", "yes"
NUMERIC_EFFECTS = (NO, BY_TRITON, NAN, LAST_BITS, UNKNOWN, YES)


def _no_rule(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Never apply: the rule of forms outside FORMS."""
    return None


@dataclass(frozen=True)
class Form:
    """One computation that is written in two ways; `rule` makes them equal. `numbers` is one of
    NUMERIC_EFFECTS, `memory` and `speed` describe other effects, `note` explains. `issue_number`
    is the issue of PyTorch that reports it.
    """

    name: str
    rule: Rule = _no_rule
    numbers: str = NO
    memory: str = ""
    speed: str = ""
    note: str = ""
    issue_number: int | None = None

    @property
    def title(self) -> str:
        """The name without backticks, for a terminal."""
        return self.name.replace("`", "")

    @property
    def issue(self) -> str:
        """The issue as GitHub abbreviates it, ``pytorch#1``; '' if there is none."""
        return f"pytorch#{self.issue_number}" if self.issue_number else ""

    @property
    def issue_suffix(self) -> str:
        """The issue in brackets, to append to the name; '' if there is none."""
        return f" ({self.issue})" if self.issue else ""

    @property
    def can_move_numbers(self) -> bool:
        """Whether results can differ, or this is unknown."""
        return self.numbers not in (NO, BY_TRITON)


def _undo_newer_calls(*calls: OlderCall) -> Rule:
    """Return a rule that replaces newer calls by the older ones."""

    def rule(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
        names = [flow.nodes[each][0].name for each in operands]
        for call in () if operation.words else calls:
            if call.matches(operation.name, names):
                return flow.make_exactly(Operation(call.older), *operands[: call.kept_operands])
        return None

    return rule


_SIGNED_ZERO_OPERANDS = {"online_softmax_combine_with_sum": 6, "online_softmax_reduce": 5}


def _drop_signed_zero_switch(
    flow: Flow, operation: Operation, operands: tuple[int, ...]
) -> int | None:
    """Drop ``strict_signed_zero=False``, the last operand of ``online_softmax_reduce``."""
    newer = _SIGNED_ZERO_OPERANDS.get(operation.name.rpartition(".")[2]) == len(operands)
    off = newer and _is_constant(flow, operands[-1], value=False)
    return flow.make_exactly(operation, *operands[:-1]) if off else None


def _replace_reciprocal_root(
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


def _drop_factor_one(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x * 1.0`` by ``x``."""
    rest = [each for each in operands if not _is_constant(flow, each, 1.0)]
    return rest[0] if operation.name == "Mult" and len(rest) == 1 else None


def _expand_fma(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``tl.fma(a, b, c)`` by ``a * b + c``."""
    if operation != Operation("tl.fma"):
        return None
    return flow.make(Operation("Add"), flow.make(Operation("Mult"), *operands[:2]), operands[2])


def _drop_float64_test(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x.dtype is tl.float32 or x.dtype is tl.float64`` by its first half."""
    if operation != Operation("BoolOp", ("Or",)) or len(operands) != 2:
        return None
    (one, first), (two, second) = (flow.nodes[each] for each in operands)
    types = [flow.nodes[each[-1]][0].name for each in (first, second) if each]
    same = one == two == Operation("Compare", ("Is",)) and first[0] == second[0]
    return operands[0] if same and types == ["tl.float32", "tl.float64"] else None


def _drop_barrier(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove ``tl.debug_barrier()``."""
    return flow.make_exactly(Operation(NOTHING)) if operation.name == "tl.debug_barrier" else None


def _drop_eviction_hint(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Remove the hint from ``tl.load(…, eviction_policy='evict_first')``."""
    words = operation.words
    if operation.name not in (LOAD, STORE) or "eviction_policy" not in words:
        return None
    at = len(operands) - len(words) + words.index("eviction_policy")
    rest = tuple(word for word in words if word != "eviction_policy")
    return flow.make(operation._replace(words=rest), *operands[:at], *operands[at + 1 :])


def _ignore_buffer_name(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Make stores to different buffers equal."""
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
# XBLOCK, r0_offset, tl.program_id, tl.arange
_INDEX_NAME = re.compile(r"[XYZ]BLOCK|R\d_BLOCK|[xyzr]\d?_?(offset|numel)|tl\.(program_id|arange)")


def _drop_index_type(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace ``x_0.to(tl.int32)`` by ``x_0`` if it is an index, whose value stays the same."""
    if operation != Operation(".to") or len(operands) != 2:
        return None
    if flow.nodes[operands[1]][0].name not in _INTEGER_TYPES:
        return None
    return operands[0] if _is_index(flow, operands[0]) else None


def _is_index(flow: Flow, node: int) -> bool:
    """Return whether a node is computed from offsets, sizes and whole numbers alone."""
    operation, operands = flow.nodes[node]
    if operation == Operation("tl.full"):
        return flow.nodes[operands[2]][0].name in _INTEGER_TYPES
    if operation.name in _INDEX_OPERATORS or operation.name == "Compare":
        return all(_is_index(flow, each) for each in operands)
    if operation.name == "Subscript":
        return _is_index(flow, operands[0])
    return type(operation.value) is int or bool(_INDEX_NAME.fullmatch(operation.name))


_SAMPLES = 32
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "Mult": int.__mul__,
    "FloorDiv": int.__floordiv__,
    "Mod": int.__mod__,
}


def _evaluate_index(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Replace an index by its values at some samples, so that equal indices such as ``x0%64`` and
    ``16*((x0//16)%4) + x0%64%16`` become equal.
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
    """Return the values of the variable with this digest."""
    seeds = (f"{digest} {sample}" for sample in range(_SAMPLES))
    return tuple(random.Random(seed).randrange(1 << 20) for seed in seeds)


def _is_constant(flow: Flow, node: int, value: object) -> bool:
    """Return whether a node is this constant, or a block filled with it."""
    operation, operands = flow.nodes[node]
    if operation == Operation("tl.full"):
        return _is_constant(flow, operands[1], value)
    return type(operation.value) is type(value) and operation.value == value


#: The known forms, in the order in which their rules are tried.
FORMS = (
    Form("`triton_helpers.rand4x` and `tl.rand`",
         _undo_newer_calls(
             OlderCall("rand4x", "tl.rand", 2), OlderCall("randn4x", "tl.randn", 2)
         ), YES, issue_number=198333,
         note="other random numbers from the same seed, so other dropout masks; rand4x repeats "
         "numbers where the offsets of a block do not follow each other"),
    Form("a reciprocal of a root and `libdevice.rsqrt`", _replace_reciprocal_root, LAST_BITS,
         speed="one operation for two"),
    Form("a product and a sum, and `tl.fma`", _expand_fma, LAST_BITS,
         note="it is rounded once, not twice, where Triton has not joined the two already"),
    Form("`max2` and `fmax2` in the online softmax",
         _undo_newer_calls(OlderCall("fmax2", "triton_helpers.max2", 2)), NAN,
         note="with fmax2 the maximum of a row does not become NaN where one element is NaN"),
    Form("a buffer written in place, and one of its own", _ignore_buffer_name,
         memory="a buffer more or less: see the bytes planned"),
    Form("an index, and the same index simplified", _evaluate_index,
         speed="fewer operations on indices"),
    Form("an index whose type is said, and one whose type is not", _drop_index_type),
    Form("a barrier between loads and stores", _drop_barrier,
         speed="threads of a block wait there"),
    Form("a hint what the cache lets go first", _drop_eviction_hint,
         speed="what stays in the cache"),
    Form("a product with 1.0, and none", _drop_factor_one),
    Form("the online softmax's switch for signed zeros, which is off", _drop_signed_zero_switch),
    Form("a test for a sign that float64 has now, too", _drop_float64_test,
         note="of float32 and integers the test is the same"),
    Form("maximum and minimum with a helper, and without", _undo_newer_calls(*EXTREMA)),
)  # fmt: skip
ORDER = Form("the same operations in another order")
COMPILED = Form("the same code, and another Triton's instructions", numbers=BY_TRITON,
                note="of what Triton makes of equal code, registers and spills are compared, no "
                "more")  # fmt: skip
UNNAMED = Form("not known", numbers=UNKNOWN)
FUSED = Form("another fusion or decomposition", numbers=UNKNOWN,
             note="other operators are in a kernel, or one side has a kernel more")  # fmt: skip
TILED = Form("blocks of one dimension, and of two", numbers=UNKNOWN,
             speed="which memory is read together",
             note="what one element is does not depend on it; atomic additions are made in another "
             "order")  # fmt: skip
LAUNCH = Form("what the heuristics read beside the code", numbers=UNKNOWN,
              speed="other sizes or alignments can give another configuration")  # fmt: skip
CONFIGURED = Form("another configuration", numbers=UNKNOWN, speed="other blocks, warps or stages",
                  note="in other blocks a reduction adds in another order")  # fmt: skip
