"""Run eager code in float64, and find how far rounding can change its results.

In a `Float64Mode` every operator computes in float64, even if the code asks for a smaller type.
With `noise` the arguments of each operator that rounds are changed at random by up to a unit in the
last place of the code's type. The difference of two such runs shows how far rounding can change the
results (Parker, *Monte Carlo arithmetic*, 1997). A run with `noise` decomposes operators as
Inductor does, because the parts of an operator can cancel where the undecomposed operator does not,
as in the tail of gelu. With `run_graph_in_float64` as the backend, Dynamo's graphs run in such a
mode. Random numbers are drawn in float32 and then converted, so they equal the
numbers that the code draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "every operator of a run"),
    Private("torch.utils._pytree", "tree_map", "arguments and results of an operator"),
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


class Float64Mode(TorchDispatchMode):
    """A mode that computes in float64 during its block. `eps` is the relative precision of the
    coarsest type that the code used. `noise` is a relative precision, too. If it is not 0, the
    arguments of operators that round are changed at random by up to this share.
    """

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__()
        self.noise, self.eps = noise, torch.finfo(torch.float64).eps
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
                return result
        writes = any(map(_is_written, func._schema.arguments))
        views = any(each.alias_info for each in func._schema.returns) and not writes
        name = func._schema.name.partition("::")[2].rstrip("_")
        operator_rounds = bool(self.noise) and not views and name not in _EXACT
        args, kwargs = self._widen_arguments(func, args, kwargs, operator_rounds)
        out = func(*args, **kwargs)
        if views or writes:
            return out
        return tree_map(self._widen, out)

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
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], operator_rounds: bool
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments in float64, with noise if the operator rounds. A tensor that the
        operator writes to is passed unchanged.
        """
        changed: Callable[[Any], Any] = self._widen_with_noise if operator_rounds else self._widen
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

    def _add_noise(self, value: Any) -> Any:
        """Return a floating-point tensor with each element changed up or down by a random share
        from half of `noise` to `noise`. The shares differ, because a subtraction would cancel equal
        changes.
        """
        if not isinstance(value, torch.Tensor) or not (
            value.is_floating_point() or value.is_complex()
        ):
            return value
        draw = torch.rand(value.shape, generator=self.generator, dtype=torch.float64).to(
            value.device
        )
        return value * (1 + self.noise * (draw - 0.5 + (draw - 0.5).sign() * 0.5))

    def _widen_with_noise(self, value: Any) -> Any:
        return self._add_noise(self._widen(value))


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
