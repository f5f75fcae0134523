"""Forms that differ between versions of PyTorch, known by name: what each of them can move."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tclab.upgrade.dataflow import LOAD, NOTHING, STORE, Flow, Rule

#: Whether a cause can move numbers, from what harms least to what harms most.
NO, BY_TRITON, NAN = "no", "not by PyTorch's code", "of a row with NaN"
LAST_BITS, UNKNOWN, YES = "the last bits", "not known", "yes"
RANK = (NO, BY_TRITON, NAN, LAST_BITS, UNKNOWN, YES)


def _nothing(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """The rule of what no form of FORMS explains."""
    return None


@dataclass(frozen=True)
class Form:
    """One thing that is written in two ways; `rule` makes them the same. `numbers`, `memory` and
    `speed` say what the exchange can move, `issue` who reported it: ``pytorch#1``.
    """

    name: str
    rule: Rule = _nothing
    numbers: str = NO
    memory: str = ""
    speed: str = ""
    note: str = ""
    issue: str = ""

    @property
    def moves(self) -> bool:
        """Whether results can differ by it, or nobody knows that they do not."""
        return self.numbers not in (NO, BY_TRITON)


def _renamed(**names: str) -> Rule:
    """A helper for another with the same operands, or with the first of them."""

    def rule(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
        name, _, most = names.get(operation.rpartition(".")[2], "").partition(" ")
        return flow.plain(name, *operands[: int(most)]) if name else None

    return rule


def _extremum(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``tl.maximum(a, b, tl.PropagateNan.ALL)`` was ``triton_helpers.maximum(a, b)``."""
    if operation not in {"tl.maximum", "tl.minimum"} or len(operands) != 3:
        return None
    with_nan = flow.nodes[operands[2]][0] == "tl.PropagateNan.ALL"
    return flow.plain(f"triton_helpers.{operation[3:]}", *operands[:2]) if with_nan else None


_SIGNED = {"online_softmax_combine_with_sum": 6, "online_softmax_reduce": 5}


def _signed_zero(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``online_softmax_reduce(max, sum, 1, False, False)``: the last is strict_signed_zero."""
    newer = _SIGNED.get(operation.rpartition(".")[2]) == len(operands)
    off = newer and _is(flow, operands[-1], "False")
    return flow.plain(operation, *operands[:-1]) if off else None


def _rsqrt(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``1.0 / tl.sqrt_rn(x)`` for ``libdevice.rsqrt(x)``."""
    if operation != "Div" or not _is(flow, operands[0], "1.0"):
        return None
    below, inner = flow.nodes[operands[1]]
    return flow.plain("libdevice.rsqrt", *inner) if below == "tl.sqrt_rn" else None


def _times_one(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``x * 1.0`` for ``x``."""
    rest = [each for each in operands if not _is(flow, each, "1.0")]
    return rest[0] if operation == "Mult" and len(rest) == 1 else None


def _fma(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``tl.fma(a, b, c)`` for ``a * b + c``."""
    if operation != "tl.fma":
        return None
    return flow.make("Add", flow.make("Mult", *operands[:2]), operands[2])


def _double(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``x.dtype is tl.float32 or x.dtype is tl.float64`` for its first half."""
    if operation != "BoolOp Or" or len(operands) != 2:
        return None
    (one, first), (two, second) = (flow.nodes[each] for each in operands)
    types = [flow.nodes[each[-1]][0] for each in (first, second) if each]
    same = one == two == "Compare Is" and first[0] == second[0]
    return operands[0] if same and types == ["tl.float32", "tl.float64"] else None


def _barrier(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``tl.debug_barrier()``."""
    return flow.plain(NOTHING) if operation == "tl.debug_barrier" else None


def _hint(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``tl.load(…, eviction_policy='evict_first')`` without the hint."""
    name, *words = operation.split()
    if name not in (LOAD, STORE) or "eviction_policy" not in words:
        return None
    at = len(operands) - len(words) + words.index("eviction_policy")
    words.remove("eviction_policy")
    return flow.make(" ".join([name, *words]), *operands[:at], *operands[at + 1 :])


def _in_place(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """A store, whatever the buffer is called that it goes to."""
    name, below = flow.nodes[operands[0]] if operation.split()[0] == STORE else ("", ())
    pointers = [each for each in below if flow.nodes[each][0].startswith("ptr_")]
    if not pointers:
        return None
    to = (flow.plain("a buffer") if each in pointers else each for each in below)
    return flow.plain(operation, flow.plain(name, *to), *operands[1:])


_WHOLE = {"tl.int32", "tl.int64"}
_ON_INDICES = {"Add", "Mult", "Sub", "USub", "FloorDiv", "Mod"}
# XBLOCK, r0_offset after 1, tl.program_id, tl.arange
_PLACE = re.compile(r"[XYZ]BLOCK|R\d_BLOCK|[xyzr]\d?_?(offset|numel)\b.*|tl\.(program_id|arange)")


def _typed(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``x_0.to(tl.int32)`` for ``x_0``: of a whole number, which keeps its value."""
    if operation != ".to" or len(operands) != 2 or flow.nodes[operands[1]][0] not in _WHOLE:
        return None
    return operands[0] if _is_index(flow, operands[0]) else None


def _is_index(flow: Flow, node: int) -> bool:
    """Whether it is computed of places and whole numbers alone."""
    operation, operands = flow.nodes[node]
    if operation == "tl.full":
        return flow.nodes[operands[2]][0] in _WHOLE
    if operation in _ON_INDICES or operation.startswith("Compare "):
        return all(_is_index(flow, each) for each in operands)
    if operation.startswith("Subscript"):
        return _is_index(flow, operands[0])
    number = operation.startswith("Constant ") and operation.split()[1].lstrip("-").isdigit()
    return number or bool(_PLACE.fullmatch(operation))


_SAMPLES = 32
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "Mult": int.__mul__,
    "FloorDiv": int.__floordiv__,
    "Mod": int.__mod__,
}


def _index(flow: Flow, operation: str, operands: tuple[int, ...]) -> int | None:
    """``16*((x0//16)%4) + x0%64%16`` for ``x0%64``: the same value wherever it is tried."""
    if operation.split()[0] not in (LOAD, STORE):
        return None
    name, below = flow.nodes[operands[0]]
    if name != "Add" or flow.nodes[below[1]][0].startswith("index "):
        return None
    try:
        values = [_at(flow, below[1], sample) for sample in range(_SAMPLES)]
    except ZeroDivisionError:
        return None
    index = flow.plain(f"index {values}")
    return flow.make(operation, flow.plain(name, below[0], index), *operands[1:])


def _at(flow: Flow, node: int, sample: int) -> int:
    """What an index is where every variable has some value."""
    operation, operands = flow.nodes[node]
    if operation in _ARITHMETIC:
        return _ARITHMETIC[operation](*(_at(flow, each, sample) for each in operands))
    if operation.startswith("Constant ") and operation.split()[1].isdigit():
        return int(operation.split()[1])
    return random.Random(f"{flow.digest(node)} {sample}").randrange(1 << 20)


def _is(flow: Flow, node: int, text: str) -> bool:
    """Whether a node is this constant, or a block full of it."""
    operation, operands = flow.nodes[node]
    if operation == "tl.full":
        return _is(flow, operands[1], text)
    return operation.split()[:2] == ["Constant", text]


#: Their rules are tried in this order.
FORMS = (
    Form("`triton_helpers.rand4x` and `tl.rand`",
         _renamed(rand4x="tl.rand 2", randn4x="tl.randn 2"), YES, issue="pytorch#198333",
         note="other random numbers from the same seed, so other dropout masks; rand4x repeats "
         "numbers where the offsets of a block do not follow each other"),
    Form("a reciprocal of a root and `libdevice.rsqrt`", _rsqrt, LAST_BITS,
         speed="one operation for two"),
    Form("a product and a sum, and `tl.fma`", _fma, LAST_BITS,
         note="it is rounded once, not twice, where Triton has not joined the two already"),
    Form("`max2` and `fmax2` in the online softmax",
         _renamed(fmax2="triton_helpers.max2 2"), NAN,
         note="with fmax2 the maximum of a row does not become NaN where one element is NaN"),
    Form("a buffer written in place, and one of its own", _in_place,
         memory="a buffer more or less: see the bytes planned"),
    Form("an index, and the same index simplified", _index, speed="fewer operations on indices"),
    Form("an index whose type is said, and one whose type is not", _typed),
    Form("a barrier between loads and stores", _barrier, speed="threads of a block wait there"),
    Form("a hint what the cache lets go first", _hint, speed="what stays in the cache"),
    Form("a product with 1.0, and none", _times_one),
    Form("the online softmax's switch for signed zeros, which is off", _signed_zero),
    Form("a test for a sign that float64 has now, too", _double,
         note="of float32 and integers the test is the same"),
    Form("maximum and minimum with a helper, and without", _extremum),
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
