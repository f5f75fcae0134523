"""Tell which operators round, and change values at random as rounding does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch.utils._pytree", "tree_leaves", "arguments and results of an operator"),
    Private("torch._inductor.decomposition", "select_decomp_table", "Inductor's decompositions"),
)

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


def is_exact(func: Any, args: tuple[Any, ...]) -> bool:
    """Return whether an operator rounds nothing. One that adds to what it finds does."""
    adds = any(each is True for each in args) and operator_name(func) == "index_put"
    return operator_name(func) in _EXACT and not adds and "reduce" not in func._overloadname


def operator_name(func: Any) -> str:
    """Return an operator's name without its namespace and the ``_`` of an in-place operator."""
    return str(func._schema.name.partition("::")[2].rstrip("_"))


def is_written(argument: Any) -> bool:
    """Return whether an operator writes to this argument of its schema."""
    return bool(argument.alias_info and argument.alias_info.is_write)


def written_tensors(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the floating-point and complex tensors to which a call of an operator writes."""
    named = {**dict(zip((each.name for each in func._schema.arguments), args)), **kwargs}
    written = [each.name for each in func._schema.arguments if is_written(each)]
    return inexact_tensors([named.get(name) for name in written])


def inexact_tensors(tree: Any) -> list[torch.Tensor]:
    """Return the floating-point and complex tensors of a tree."""
    return [each for each in tree_leaves(tree) if is_inexact(each)]


def is_inexact(value: Any) -> bool:
    """Return whether this is a tensor of floating-point or complex numbers."""
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def load_decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return Inductor's decompositions of operators."""
    from torch._inductor.decomposition import select_decomp_table

    table: Mapping[Any, Callable[..., Any]] = select_decomp_table()
    return table


def smallest_step(rounded: float | torch.Tensor) -> float | torch.Tensor:
    """Return the distance of neighbours among the smallest numbers of float16, where this is the
    precision, and 0 elsewhere: in other types this distance is far below what programs compute.
    """
    half = torch.finfo(torch.float16)
    step = half.tiny * half.eps
    if isinstance(rounded, torch.Tensor):
        return torch.where(rounded == half.eps, step, 0.0)
    return step if rounded == half.eps else 0.0


def add_noise(value: Any, share: float | torch.Tensor, generator: torch.Generator) -> Any:
    """Return a floating-point tensor with each element changed up or down by a random part of its
    value, from half of `share` to `share`. The parts differ, because a subtraction would cancel
    equal changes. A small number in float16 changes by that type's smallest step.
    """
    if not is_inexact(value):
        return value
    draw = torch.rand(value.shape, generator=generator, dtype=torch.float64).to(value.device)
    # in place, because much of the time of a large tensor goes to new memory
    part = draw.sub_(0.5)
    part.add_(part.sign().mul_(0.5))
    noisy = value * (part * share).add_(1)
    step = smallest_step(share)
    if isinstance(step, float) and not step:
        return noisy
    return noisy.add_(part.mul_(step).mul_(value != 0))


def round_partial_sums(
    func: Any, args: tuple[Any, ...], share: float, generator: torch.Generator
) -> tuple[Any, ...]:
    """Return the arguments of an operator; those of a sum of columns changed at random as if its
    terms were added one by one, and each partial sum rounded: so Inductor adds them up on a CPU.
    The error of such a sum grows with its length, and that of eager's sum by halves does not. Along
    the last dimension both add in parts. Narrow types are added up in float32.
    """
    if operator_name(func) not in ("sum", "mean") or not is_inexact(args[0]):
        return args
    terms, dims = args[0], [*args[1:2]]
    reduced = sorted({dim % terms.dim() for dim in dims[0] or ()}) if dims and terms.dim() else []
    if not reduced or terms.dim() - 1 in reduced:
        return args
    last = range(-len(reduced), 0)
    moved = terms.movedim(reduced, list(last))
    partial = moved.flatten(-len(reduced)).cumsum(-1)
    error = add_noise(partial, min(share, torch.finfo(torch.float32).eps) / 2, generator) - partial
    return terms + error.view(moved.shape).movedim(list(last), reduced), *args[1:]


@contextmanager
def noise_in_written(
    tensors: list[torch.Tensor], share: float | torch.Tensor, generator: torch.Generator
) -> Iterator[None]:
    """After the block, change at random those elements of the tensors that the block has changed:
    the arguments of an operator in place get no noise before it, because it may leave elements as
    they are.
    """
    before = [each.clone() for each in tensors]
    yield
    for tensor, earlier in zip(tensors, before):
        if tensor.shape == earlier.shape:
            noisy = add_noise(tensor, share, generator)
            tensor.copy_(torch.where(tensor == earlier, tensor, noisy))


def find_exact_zeros(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> torch.Tensor | None:
    """Return the mask of the elements of a difference that are 0 because both sides are equal, as
    they are in each precision: a masked value of ``-finfo.max`` less the largest of its row. Return
    None for another operator.
    """
    if operator_name(func) != "sub" or kwargs.get("alpha", 1) != 1:
        return None
    return torch.as_tensor(args[0] == args[1])
