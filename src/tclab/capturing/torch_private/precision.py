"""Run eager code in float64, and find how far rounding can change its results.

In a `Float64Mode` every operator computes in float64, even if the code asks for a smaller type.
With `noise` the arguments of each operator that rounds are changed at random by up to a unit in the
last place of the coarsest type in which this operator or one before it rounds in the code. The
difference of two such runs shows how far rounding can change the results (Parker, *Monte Carlo
arithmetic*, 1997). A run with `noise` decomposes operators as Inductor does, because the parts of
an operator can cancel where the undecomposed operator does not, as in the tail of gelu. With
`run_graph_in_float64` as the backend, Dynamo's graphs run in such a mode. Random numbers are drawn
in float32 and then converted, so they equal the numbers that the code draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "every operator of a run"),
    Private("torch.utils._pytree", "tree_map", "arguments and results of an operator"),
    Private("torch.utils._pytree", "tree_leaves", "arguments and results of an operator"),
    Private("torch._inductor.decomposition", "select_decomp_table", "Inductor's decompositions"),
)

_WIDER_DTYPES = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
#: Operators that only move, select or compare values, so that they do not round.
_EXACT_NAMES = (
    "_to_copy copy clone lift_fresh lift_fresh_copy detach cat stack index index_select gather "
    "full full_like new_full zeros zeros_like new_zeros ones ones_like new_ones empty empty_like "
    "new_empty empty_strided new_empty_strided scalar_tensor arange eye where masked_fill fill "
    "zero maximum minimum relu neg abs sign round floor ceil trunc sort topk max min amax amin "
    "argmax argmin argsort index_put scatter slice_scatter select_scatter constant_pad_nd roll "
    "flip embedding eq ne lt le gt ge isnan isinf isfinite bitwise_and bitwise_or bitwise_not "
    "logical_and logical_or logical_not nonzero unique triu tril diag_embed repeat "
    "repeat_interleave max_pool2d_with_indices masked_select take clamp clamp_min clamp_max "
    "threshold hardtanh reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d "
)
_EXACT = frozenset(_EXACT_NAMES.split())


#: The attribute of a tensor with its `Precision`.
_ATTRIBUTE = "_tclab_precision"


@dataclass(frozen=True)
class Precision:
    """The precision of a tensor in the code, although the tensor is computed in float64 here.

    `own` is the relative precision of its type. `rounded` is the relative precision of the coarsest
    type in which an operator rounded on the way to the tensor; 0 if none did.
    """

    own: float
    rounded: float = 0.0


def set_precision(tensor: torch.Tensor, precision: Precision) -> None:
    """Attach to a tensor the precision from which `Float64Mode` continues."""
    setattr(tensor, _ATTRIBUTE, precision)


def rounded_precision(tensor: torch.Tensor) -> float | None:
    """Return the relative precision of the coarsest type in which an operator rounded on the way to
    a tensor; None if it is not known.
    """
    precision = getattr(tensor, _ATTRIBUTE, None)
    return max(precision.own, precision.rounded) if precision else None


class Float64Mode(TorchDispatchMode):
    """A mode that computes in float64 during its block. `eps` is the relative precision of the
    coarsest type that the code used. `noise` is the precision for tensors of unknown type. If it is
    not 0, the arguments of operators that round are changed at random, each by up to the share in
    which the operator or one before it rounds. With noise, `undeclared` maps each custom operator
    that writes to an argument, and does not declare it, to the argument's name.
    """

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__()
        self.noise, self.eps = noise, torch.finfo(torch.float64).eps
        self.written: dict[int, float] = {}  # address of a storage → `rounded` of what was written
        self.undeclared: dict[str, str] = {}
        self.generator = torch.Generator().manual_seed(seed)
        self.decompositions = _load_decompositions() if noise else {}

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded in func.tags:
            return self._draw(func, args, kwargs)
        if decomposition := self.decompositions.get(func):
            with self:
                result = decomposition(*args, **kwargs)
            # NotImplemented means that these arguments have no decomposition
            if result is not NotImplemented:
                return self._keep_type(result, func, (args, kwargs))
        writes = any(map(_is_written, func._schema.arguments))
        views = any(each.alias_info for each in func._schema.returns) and not writes
        result = self._find_precision(func, views, (args, kwargs))
        rounds = not views and not _is_exact(func, args)
        share = result.rounded if self.noise and rounds else 0.0
        passed = self._widen_arguments(func, args, kwargs, share)
        with self._repeating_writes(func, (args, kwargs), passed):
            out = func(*passed[0], **passed[1])
        if share and _name(func) == "sub" and not writes and kwargs.get("alpha", 1) == 1:
            out = _keep_exact_zeros(out, *args[:2])
        if not (views or writes):
            out = tree_map(self._widen, out)
        for each in _tensors(out):
            if not (views or writes):  # new memory, perhaps at the address of memory that is gone
                self.written.pop(_storage(each), None)
            self._set_precision(each, result, writes)
        return out

    def _keep_type(self, result: Any, func: Any, arguments: Any) -> Any:
        """Return what a decomposition made, in the type of the operator that it replaces: the
        decomposition of ``ones_like(x)`` does not know the type of x.
        """
        own = self._find_precision(func, False, arguments).own
        given = {id(each) for each in _tensors(arguments)}
        for each in _tensors(result):
            if id(each) not in given:
                set_precision(each, replace(self._precision(each), own=own))
        return result

    def _find_precision(self, func: Any, views: bool, arguments: Any) -> Precision:
        """Return the precision of an operator's results. Their type is that of the tensor that it
        writes to, or the one that the code asks for. Else it is the coarsest of the sized tensors,
        because code such as ``x.to(y.dtype)`` sees float64 here and does not convert.
        """
        unknown = self.noise or self.eps
        tensors = _tensors(arguments)
        known = [self._precision(each) for each in tensors]
        sized = [each.own for each, tensor in zip(known, tensors) if tensor.dim()]
        types = sized or [each.own for each in known]
        own = max(types, default=torch.finfo(torch.get_default_dtype()).eps)
        asked = [each for each in tree_leaves(arguments) if isinstance(each, torch.dtype)]
        if known and any(map(_is_written, func._schema.arguments)):
            own = known[0].own
        elif asked and asked[-1] in _WIDER_DTYPES:
            own = torch.finfo(asked[-1]).eps
        elif asked and (asked[-1].is_floating_point or asked[-1].is_complex):
            # a decomposition's `to` changes nothing here
            own = own if known and _name(func) == "to" else unknown
        rounded = max((each.rounded for each in known), default=0.0)
        exact = views or (_is_exact(func, arguments[0]) and own <= min(types, default=own))
        return Precision(own, rounded if exact else max(rounded, own))

    def _precision(self, tensor: torch.Tensor) -> Precision:
        if tensor.dtype in _WIDER_DTYPES:
            return Precision(torch.finfo(tensor.dtype).eps)
        unknown = self.noise or self.eps
        found: Precision = getattr(tensor, _ATTRIBUTE, Precision(unknown, unknown))
        written = self.written.get(_storage(tensor), 0.0)
        return replace(found, rounded=max(found.rounded, written))

    def _set_precision(self, result: torch.Tensor, precision: Precision, written: bool) -> None:
        set_precision(result, precision)
        if written:  # the other views of this memory have these values, too
            self.written[_storage(result)] = precision.rounded
            if result._base is not None:
                set_precision(
                    result._base, replace(precision, own=self._precision(result._base).own)
                )

    @contextmanager
    def _repeating_writes(self, func: Any, given: Any, passed: Any) -> Iterator[None]:
        """After the block, repeat a custom operator's undeclared writes: write to the given tensors
        what the operator wrote to the copies that it got.
        """
        pairs = [pair for pair in zip(_tensors(given), _tensors(passed)) if pair[0] is not pair[1]]
        if func.namespace in ("aten", "prims") or not pairs:
            yield
            return
        before = [copy.clone() for _, copy in pairs]
        yield
        for (original, copy), earlier in zip(pairs, before):
            if not ((copy == earlier) | (copy.isnan() & earlier.isnan())).all():
                original.copy_(copy)
                name = func._schema.name.replace("::", ".")
                self.undeclared[name] = _argument_name(func, given, original)

    def _draw(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Draw random numbers in float32 and return them in float64, also if the operator fills a
        given tensor.
        """
        narrow, named = tree_map(_to_float32, args), tree_map(_to_float32, kwargs)
        out = func(*narrow, **named)
        written = [each.name for each in func._schema.arguments if _is_written(each)]
        if not written:
            return tree_map(self._widen, out)
        names = [each.name for each in func._schema.arguments]
        before, after = ({**dict(zip(names, places)), **keywords}
                         for places, keywords in ((args, kwargs), (narrow, named)))  # fmt: skip
        for name in written:
            before[name].copy_(after[name])
        results = [before[name] for name in written]
        return results[0] if len(results) == 1 else results

    def _widen_arguments(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], share: float
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments in float64, changed by up to `share`. A tensor that the operator
        writes to is passed unchanged.
        """

        def changed(value: Any) -> Any:
            wide = self._widen(value)
            return self._add_noise(wide, share) if share else wide

        names = [each.name for each in func._schema.arguments]
        kept = {each.name for each in func._schema.arguments if _is_written(each)}
        return (
            tuple(value if names[at] in kept else tree_map(changed, value)
                  for at, value in enumerate(args)),
            {name: value if name in kept else tree_map(changed, value)
             for name, value in kwargs.items()},
        )  # fmt: skip

    def _widen(self, value: Any) -> Any:
        if isinstance(value, torch.dtype) and value in _WIDER_DTYPES:
            self.eps = max(self.eps, torch.finfo(value).eps)
            return _WIDER_DTYPES[value]
        if isinstance(value, torch.Tensor) and value.dtype in _WIDER_DTYPES:
            self.eps = max(self.eps, torch.finfo(value.dtype).eps)
            return value.to(_WIDER_DTYPES[value.dtype])
        return value

    def _add_noise(self, value: Any, share: float) -> Any:
        """Return a floating-point tensor with each element changed up or down by a random part of
        its value, from half of `share` to `share`. The parts differ, because a subtraction would
        cancel equal changes.
        """
        if not _is_inexact(value):
            return value
        draw = torch.rand(value.shape, generator=self.generator, dtype=torch.float64).to(
            value.device
        )
        return value * (1 + share * (draw - 0.5 + (draw - 0.5).sign() * 0.5))


def run_graph_in_float64(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
    """Run Dynamo's graphs in float64; this function is a backend of torch.compile. A tensor that a
    graph makes from a Python number has the type float64, too.
    """

    def run(*inputs: Any) -> Any:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with Float64Mode():
                return graph(*inputs)
        finally:
            torch.set_default_dtype(before)

    return run


def _keep_exact_zeros(difference: torch.Tensor, left: Any, right: Any) -> torch.Tensor:
    """Return a difference that is 0 where both sides are equal, as it is in each precision. So is a
    masked value of ``-finfo.max`` less the largest of its row.
    """
    zero = torch.as_tensor(left == right) & difference.isfinite()
    return torch.where(zero, torch.zeros_like(difference), difference)


def _name(func: Any) -> str:
    """Return an operator's name without its namespace and the ``_`` of an in-place operator."""
    return str(func._schema.name.partition("::")[2].rstrip("_"))


def _argument_name(func: Any, given: Any, tensor: torch.Tensor) -> str:
    """Return the name of the argument that is this tensor or contains it."""
    args, kwargs = given
    named = {**dict(zip((each.name for each in func._schema.arguments), args)), **kwargs}
    return next(name for name, value in named.items()
                if any(each is tensor for each in tree_leaves(value)))  # fmt: skip


def _is_exact(func: Any, args: tuple[Any, ...]) -> bool:
    """Return whether an operator rounds nothing. One that adds to what it finds does."""
    adds = any(each is True for each in args) and _name(func) == "index_put"
    return _name(func) in _EXACT and not adds and "reduce" not in func._overloadname


def _storage(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's storage, or 0 for a tensor without one."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


def _tensors(tree: Any) -> list[torch.Tensor]:
    """Return the floating-point and complex tensors of a tree."""
    return [each for each in tree_leaves(tree) if _is_inexact(each)]


def _is_inexact(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _is_written(argument: Any) -> bool:
    return bool(argument.alias_info and argument.alias_info.is_write)


def _load_decompositions() -> Mapping[Any, Callable[..., Any]]:
    from torch._inductor.decomposition import select_decomp_table

    table: Mapping[Any, Callable[..., Any]] = select_decomp_table()
    return table


def _to_float32(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype is torch.float64:
        return value.float()
    return value
