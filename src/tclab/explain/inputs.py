"""Make the arguments of the calls, from the file's ``example_inputs()`` or from ``--input``."""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tclab.errors import BadRequest, ExplainError
from tclab.explain.load import find_user_line, last_line
from tclab.explain.seeds import seeded

#: Data type as PyTorch abbreviates it → its name in torch.
DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "b8": "bool",
    "c64": "complex64", "c128": "complex128",
}  # fmt: skip
_FULL_DTYPE_NAMES = {full: full for full in DTYPES.values()}

_TENSOR = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<sizes>[\d\s,]*)\](?:\s*<\s*(?P<bound>\d+))?")
_KEYWORD = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*(?P<value>.+)", re.DOTALL)
_HOW_TO_WRITE_INPUTS = (
    "write a tensor as dtype[sizes], such as f32[8,1024] or i64[8,16]<1000 (integers below 1000); "
    "or a Python literal, such as 3 or \"'mean'\"; or name=… for a keyword"
)


#: A number with more digits cannot be a size.
_DIGITS = 18
_MAKE_SMALLER = "make it smaller: sizes change what is compiled less than they change its time"


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)


Calls = list[Call]
#: A function that makes new arguments, because a second run must not get arguments that the first
#: run changed.
MakeCalls = Callable[[], Calls]


@dataclass(frozen=True)
class Spec:
    """One ``--input``: a tensor to be filled, or a literal value."""

    name: str  # the name of a keyword argument; '' for a positional one
    dtype: str = ""  # torch's name of the dtype; '' for a literal
    sizes: tuple[int, ...] = ()
    bound: int | None = None
    value: object = None

    def __str__(self) -> str:
        return f"{self.name}{'=' * bool(self.name)}{self.dtype}{list(self.sizes)}"


def parse(text: str) -> Spec:
    """Parse one ``--input``. Raises BadRequest, which says how to write it, if it is wrong."""
    match = _KEYWORD.fullmatch(text.strip())
    name, body = (match["name"], match["value"]) if match else ("", text.strip())
    if tensor := _TENSOR.fullmatch(body):
        return _parse_tensor(text, name, tensor)
    try:
        return Spec(name, value=ast.literal_eval(body))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise BadRequest(
            f"--input {text}", "neither a tensor nor a Python literal", _HOW_TO_WRITE_INPUTS
        ) from None


def _parse_tensor(text: str, name: str, match: re.Match[str]) -> Spec:
    known = DTYPES | _FULL_DTYPE_NAMES
    dtype = known.get(match["dtype"])
    if dtype is None:
        raise BadRequest(f"--input {text}", f"no data type {match['dtype']!r}",
                         f"known: {', '.join(DTYPES)}")  # fmt: skip
    pieces = [p.strip() for p in match["sizes"].split(",")]
    if pieces[-1] == "":  # f32[] is a scalar; f32[8,] is allowed
        pieces.pop()
    if not all(p.isdigit() for p in pieces):
        raise BadRequest(f"--input {text}", "a size is missing", _HOW_TO_WRITE_INPUTS)
    if any(len(p) > _DIGITS for p in pieces):
        raise BadRequest(f"--input {text}", f"a size of over {_DIGITS} digits", _MAKE_SMALLER)
    return Spec(name, dtype, tuple(map(int, pieces)), _parse_bound(text, dtype, match["bound"]))


def _parse_bound(text: str, dtype: str, digits: str | None) -> int | None:
    """Parse the exclusive upper bound of an integer tensor. Raises BadRequest if its type is too
    small.
    """
    if digits is None:
        return None
    if "int" not in dtype or not digits.strip("0"):
        raise BadRequest(
            f"--input {text}", "a bound is for integers, and at least 1", _HOW_TO_WRITE_INPUTS
        )
    bits = int(dtype.rpartition("int")[2]) - (not dtype.startswith("u"))
    if len(digits) > 2 * _DIGITS or int(digits) > 2**bits:  # int() refuses thousands of digits
        cause = f"{dtype} has no integers above {2**bits - 1}"
        raise BadRequest(f"--input {text}", cause, f"a bound of at most {2**bits}, or another type")
    return min(int(digits), 2**63 - 1)  # torch.randint accepts no larger bound


def make(spec: Spec, *, device: Any = None, grad: bool = False) -> object:
    """Make the value of a Spec. Floats are normally distributed; integers are below the bound, or 0
    and 1 without one. With `grad` floating-point tensors require grad.
    """
    import torch

    if not spec.dtype:
        return spec.value
    dtype = getattr(torch, spec.dtype)
    _check_room(spec, dtype.itemsize)
    try:
        if dtype.is_floating_point or dtype.is_complex:
            wide = dtype.itemsize >= 2
            values = torch.randn(spec.sizes, dtype=dtype if wide else torch.float32, device=device)
            return values.to(dtype).requires_grad_(grad and wide)
        return torch.randint(0, spec.bound or 2, spec.sizes, device=device).to(dtype)
    except (RuntimeError, MemoryError) as error:  # out of memory
        raise ExplainError(f"--input {spec}", last_line(error), _MAKE_SMALLER) from error


def _check_room(spec: Spec, itemsize: int) -> None:
    """Raise ExplainError if the tensor is larger than this machine's memory. Linux would allocate
    it, and kill the process when it fills the tensor.
    """
    size, memory = math.prod(spec.sizes) * itemsize, _total_memory()
    if size > memory:
        cause = f"it takes {size / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB"
        raise ExplainError(f"--input {spec}", cause, _MAKE_SMALLER)


def _total_memory() -> int:
    """Return the size of this machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def from_specs(specs: Sequence[Spec], *, device: Any = None, grad: bool = False) -> Calls:
    """Return one call with these arguments, which have the same values in each run."""
    with seeded():
        values = [(s.name, make(s, device=device, grad=grad)) for s in specs]
    args = tuple(value for name, value in values if not name)
    return [Call(args, {name: value for name, value in values if name})]


def from_examples(module: ModuleType, where: str) -> Calls:
    """Return the calls that the file's ``example_inputs()`` describes: a tuple of arguments, or a
    list of such tuples.
    """
    place = f"{where}:example_inputs"
    if not callable(module.example_inputs):
        kind = type(module.example_inputs).__name__
        step = "write def example_inputs(): and return the same"
        raise ExplainError(place, f"it is no function, but an object of type {kind}", step)
    try:
        with seeded():
            examples = module.example_inputs()
    except (Exception, SystemExit) as error:
        raise ExplainError(
            find_user_line(error) or place,
            f"example_inputs() failed: {last_line(error)}",
            _examples_advice(error),
        ) from error
    calls = examples if isinstance(examples, list) else [examples]
    if not calls:
        raise ExplainError(place, "it returned an empty list", "return at least one tuple")
    return [_parse_call(value, place) for value in calls]


def _examples_advice(error: BaseException) -> str:
    if "CUDA" in str(error) or "NVIDIA" in str(error):
        return "make the tensors on the CPU: with --target that gives the GPU's code"
    return "it takes no arguments, and returns a tuple of arguments or a list of such tuples"


def _parse_call(value: object, place: str) -> Call:
    import torch

    if isinstance(value, tuple):
        return Call(value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return Call((), value)
    if isinstance(value, torch.Tensor):
        return Call((value,))
    raise ExplainError(place, f"for a call it returned an object of type {type(value).__name__}",
                       "return a tuple of arguments, or a dict, for each call")  # fmt: skip


# --------------------------------------------------------------------------- fit to the parameters


def check_fit(function: Callable[..., object], calls: Calls, place: str) -> None:
    """Raise ExplainError unless the arguments of every call bind to the function's parameters."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature: the call will raise
        return
    for number, call in enumerate(calls, 1):
        try:
            signature.bind(*call.args, **call.kwargs)
        except TypeError as error:
            which = f"call {number} of {len(calls)}: " if len(calls) > 1 else ""
            arguments = describe(call) or "nothing"
            raise ExplainError(
                place,
                f"the inputs do not fit: {which}{error}; it takes {parameters(signature)}, "
                f"given: {arguments}",
                "change example_inputs() or --input",
            ) from None  # fmt: skip


def parameters(signature: inspect.Signature) -> str:
    """Return the parameters without annotations, with short defaults: ``(x, mask=None)``."""
    short = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    short = [
        p if p.default is p.empty else p.replace(default=_Unquoted(brief(p.default))) for p in short
    ]
    return str(inspect.Signature(short))


class _Unquoted(str):
    """Text that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def missing(function: Callable[..., object], place: str, file: str) -> BadRequest:
    """Return the error for a function that needs inputs but got none."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin, such as torch.sin
        cause = "there are no inputs for it, and it does not say what it takes"
        step = f"define example_inputs() in {file}; or say, for example: --input 'f32[8,16]'"
        return BadRequest(place, cause, step)
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    empty = [p for p in signature.parameters.values() if p.default is p.empty]
    needed = [p.name for p in empty if p.kind not in free]
    returned = ", ".join(needed or ["x"]) + "," * (len(needed) < 2)
    example = (
        " ".join(f"--input '{name}=f32[8,16]'" for name in needed[:3]) or "--input 'f32[8,16]'"
    )
    return BadRequest(
        place,
        f"it takes {parameters(signature)}, and there are no inputs for "
        f"{', '.join(needed or map(str, empty))}",
        f"define example_inputs() in {file}, returning ({returned}); or say, "
        f"for example: {example}",
    )


#: A description names at most this number of arguments.
_MOST_ARGUMENTS = 12


def describe(call: Call) -> str:
    """Describe a call's arguments in a few words: ``f32[8, 16], 3, mask=b8[8]``. If there are many,
    the first are described: ``f32[8], f32[9], and 48 more``.
    """
    parts = [*map(brief, call.args), *(f"{k}={brief(v)}" for k, v in call.kwargs.items())]
    rest = len(parts) - _MOST_ARGUMENTS
    return ", ".join([*parts[:_MOST_ARGUMENTS], *[f"and {rest} more"] * (rest > 0)])


def brief(value: object, depth: int = 2) -> str:
    """Describe one argument in a few words; containers are opened down to `depth` levels."""
    import torch

    if isinstance(value, torch.Tensor):
        short = {full: name for name, full in DTYPES.items()}
        name = str(value.dtype).removeprefix("torch.")
        return f"{short.get(name, name)}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)) and depth:
        inner = ", ".join(brief(v, depth - 1) for v in value[:4])
        more = ", …" if len(value) > 4 else ""
        return f"[{inner}{more}]" if isinstance(value, list) else f"({inner}{more})"
    if isinstance(value, dict) and depth:
        keys = ", ".join(f"{k!r}: {brief(v, depth - 1)}" for k, v in list(value.items())[:4])
        return f"{{{keys}{', …' if len(value) > 4 else ''}}}"
    if value is None or isinstance(value, (bool, int, float, str, complex)):
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"
