"""Run eager code in float64, and find how far rounding can change its results.

In a `Float64Mode` every operator computes in float64, even if the code asks for a smaller type.
With `noise` the arguments of each operator that rounds, and what an operator writes in place, are
changed at random by up to a unit in the last place of the coarsest type in which this operator or
one before it rounds in the code. The
difference of two such runs shows how far rounding can change the results (Parker, *Monte Carlo
arithmetic*, 1997). A run with `noise` decomposes operators as Inductor does, because the parts of
an operator can cancel where the undecomposed operator does not, as in the tail of gelu. With
`run_graph_in_float64` as the backend, Dynamo's graphs run in such a mode. Random numbers are drawn
in float32 and then converted, so they equal the numbers that the code draws.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from tclab.capturing.torch_private import rounded, rounding
from tclab.capturing.torch_private.private import Private
from tclab.capturing.torch_private.rounded import Rounded

NAMES = (
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "every operator of a run"),
    Private("torch.utils._pytree", "tree_map", "arguments and results of an operator"),
    *rounding.NAMES,
)

_WIDER_DTYPES = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}

#: The attribute of a tensor with its `Precision`.
_ATTRIBUTE = "_tclab_precision"


@dataclass(frozen=True)
class Precision:
    """The precision of a tensor in the code, although the tensor is computed in float64 here.

    `own` is the relative precision of its type. `rounded` is the relative precision of the coarsest
    type in which an operator rounded on the way to each element; 0 if none did.
    """

    own: float
    rounded: Rounded = 0.0
    further: tuple[Rounded, ...] = ()  # `rounded` of further results of one operator

    def of_result(self, at: int) -> Precision:
        """Return the precision of one of an operator's results."""
        every = self.rounded, *self.further
        return Precision(self.own, every[min(at, len(every) - 1)])


def set_precision(tensor: torch.Tensor, precision: Precision) -> None:
    """Attach to a tensor the precision from which `Float64Mode` continues."""
    setattr(tensor, _ATTRIBUTE, precision)


def rounded_precision(tensor: torch.Tensor) -> Rounded | None:
    """Return the relative precision of the coarsest type in which an operator rounded on the way to
    each element of a tensor; None if it is not known.
    """
    precision = getattr(tensor, _ATTRIBUTE, None)
    return rounded.coarser(precision.rounded, precision.own) if precision else None


class OutOfTimeError(Exception):
    """A run in float64 does not end in its time."""


class Float64Mode(TorchDispatchMode):
    """A mode that computes in float64 during its block. `eps` is the relative precision of the
    coarsest type that the code used. `noise` is the precision for tensors of unknown type. If it is
    not 0, the arguments of operators that round are changed at random, each by up to the share in
    which the operator or one before it rounds. With noise, `undeclared` maps each custom operator
    that writes to an argument, and does not declare it, to the argument's name. An operator that
    starts after `end`, a time of ``time.monotonic``, raises `OutOfTimeError`.
    """

    def __init__(self, noise: float = 0.0, seed: int = 0, end: float = math.inf) -> None:
        super().__init__()
        self.end = end
        self.noise, self.eps = noise, torch.finfo(torch.float64).eps
        self.written = rounded.Written()
        self.undeclared: dict[str, str] = {}
        self.generator = torch.Generator().manual_seed(seed)
        self.decompositions = rounding.load_decompositions() if noise else {}

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if time.monotonic() > self.end:
            raise OutOfTimeError
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded in func.tags:
            return self._draw(func, args, kwargs)
        if decomposition := self.decompositions.get(func):
            with self:
                result = decomposition(*args, **kwargs)
            # NotImplemented means that these arguments have no decomposition
            if result is not NotImplemented:
                return self._keep_type(result, func, (args, kwargs))
        writes = any(map(rounding.is_written, func._schema.arguments))
        views = any(each.alias_info for each in func._schema.returns) and not writes
        result = self._find_precision(func, views, (args, kwargs))
        noisy = bool(self.noise) and not views and not rounding.is_exact(func, args)
        passed = self._widen_arguments(func, args, kwargs, result if noisy else None)
        if noisy:
            terms = rounding.round_partial_sums(func, passed[0], result.own, self.generator)
            passed = terms, passed[1]
        written = rounding.written_tensors(func, *passed) if noisy else []
        zeros = rounding.find_exact_zeros(func, args, kwargs) if noisy else None
        with (
            rounding.noise_in_written(written, result.rounded, self.generator),
            self._repeating_writes(func, (args, kwargs), passed),
        ):
            out = self._call(func, *passed)
        if zeros is not None:
            out.masked_fill_(zeros & out.isfinite(), 0)
        if not (views or writes):
            out = tree_map(self._widen, out)
        for at, each in enumerate(rounding.inexact_tensors(out)):
            if not (views or writes):  # new memory, perhaps at the address of memory that is gone
                self.written.forget(each)
            self._set_precision(each, result.of_result(at), writes)
        return out

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator. One of PyTorch's on integers alone, such as their sine, computes in
        float64 in place of the default type.
        """
        leaves, default = tree_leaves((args, kwargs)), torch.get_default_dtype()
        typed = any(rounding.is_inexact(x) or isinstance(x, torch.dtype) for x in leaves)
        integers = not typed and any(isinstance(x, torch.Tensor) for x in leaves)
        if not integers or func.namespace != "aten":
            return func(*args, **kwargs)
        torch.set_default_dtype(torch.float64)
        try:
            out = func(*args, **kwargs)
        finally:
            torch.set_default_dtype(default)
        if rounding.inexact_tensors(out):
            self.eps = max(self.eps, torch.finfo(default).eps)
        return out

    def _keep_type(self, result: Any, func: Any, arguments: Any) -> Any:
        """Return what a decomposition made, in the type of the operator that it replaces: the
        decomposition of ``ones_like(x)`` does not know the type of x.
        """
        own = self._find_precision(func, False, arguments).own
        given = {id(each) for each in rounding.inexact_tensors(arguments)}
        for each in rounding.inexact_tensors(result):
            if id(each) not in given:
                set_precision(each, replace(self._precision(each), own=own))
        return result

    def _find_precision(self, func: Any, views: bool, arguments: Any) -> Precision:
        """Return the precision of an operator's results. Their type is that of the tensor that it
        writes to, or the one that the code asks for. Else it is the coarsest of the sized tensors,
        because code such as ``x.to(y.dtype)`` sees float64 here and does not convert.
        """
        unknown = self.noise or self.eps
        tensors = rounding.inexact_tensors(arguments)
        known = [self._precision(each) for each in tensors]
        sized = [each.own for each, tensor in zip(known, tensors) if tensor.dim()]
        types = sized or [each.own for each in known]
        own = max(types, default=torch.finfo(torch.get_default_dtype()).eps)
        asked = [each for each in tree_leaves(arguments) if isinstance(each, torch.dtype)]
        if known and any(map(rounding.is_written, func._schema.arguments)):
            own = known[0].own
        elif asked and asked[-1] in _WIDER_DTYPES:
            own = torch.finfo(asked[-1]).eps
        elif asked and (asked[-1].is_floating_point or asked[-1].is_complex):
            # a decomposition's `to` changes nothing here
            own = own if known and rounding.operator_name(func) == "to" else unknown
        exact = views or (rounding.is_exact(func, arguments[0]) and own <= min(types, default=own))
        least = 0.0 if exact else own
        found = rounded.of_results(func, arguments, views, self._rounded)
        first, *further = (rounded.coarser(each, least) for each in found)
        return Precision(own, first, tuple(further))

    def _rounded(self, tensor: torch.Tensor) -> Rounded:
        return self._precision(tensor).rounded

    def _precision(self, tensor: torch.Tensor) -> Precision:
        if tensor.dtype in _WIDER_DTYPES:
            return Precision(torch.finfo(tensor.dtype).eps)
        unknown = self.noise or self.eps
        found: Precision = getattr(tensor, _ATTRIBUTE, Precision(unknown, unknown))
        return replace(found, rounded=rounded.coarser(found.rounded, self.written.find(tensor)))

    def _set_precision(self, result: torch.Tensor, precision: Precision, written: bool) -> None:
        set_precision(result, precision)
        if written:
            self.written.add(result, precision.rounded)
            if result._base is not None:
                set_precision(result._base, self._precision(result._base))

    @contextmanager
    def _repeating_writes(self, func: Any, given: Any, passed: Any) -> Iterator[None]:
        """After the block, repeat a custom operator's undeclared writes: write to the given tensors
        what the operator wrote to the copies that it got.
        """
        pairs = [
            pair
            for pair in zip(rounding.inexact_tensors(given), rounding.inexact_tensors(passed))
            if pair[0] is not pair[1]
        ]
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
        written = [each.name for each in func._schema.arguments if rounding.is_written(each)]
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
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], noise: Precision | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments in float64, changed by up to the precision `noise` of the results.
        A tensor that the operator writes to is passed unchanged.
        """

        def changed(value: Any) -> Any:
            wide = self._widen(value)
            if noise is None or not rounding.is_inexact(wide):
                return wide
            share = noise.rounded
            if isinstance(share, torch.Tensor):
                share = rounded.coarser(self._rounded(value), noise.own)
            return rounding.add_noise(wide, share, self.generator)

        names = [each.name for each in func._schema.arguments]
        kept = {each.name for each in func._schema.arguments if rounding.is_written(each)}
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


def _argument_name(func: Any, given: Any, tensor: torch.Tensor) -> str:
    """Return the name of the argument that is this tensor or contains it."""
    args, kwargs = given
    named = {**dict(zip((each.name for each in func._schema.arguments), args)), **kwargs}
    return next(name for name, value in named.items()
                if any(each is tensor for each in tree_leaves(value)))  # fmt: skip


def _to_float32(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype is torch.float64:
        return value.float()
    return value
