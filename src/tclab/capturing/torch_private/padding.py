"""Run PyTorch's own rule on whether to pad a matrix product, on given tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch

from tclab.capturing.torch_private.private import Private

_PAD_MM = "torch._inductor.fx_passes.pad_mm"

NAMES = (
    Private(_PAD_MM, "_should_pad", "the rule, which times a product"),
    Private(_PAD_MM, "should_exclude_padding_time", "what of a padding is not timed"),
    Private(_PAD_MM, "is_padded_faster", "what was timed"),
    Private(_PAD_MM, "get_cached_should_pad", "answers that are kept"),
    Private(_PAD_MM, "get_cached_base_mm_benchmark_time", "times that are kept"),
    Private(_PAD_MM, "set_cached_base_mm_benchmark_time", "times that are kept"),
)

#: Milliseconds of the product, without and with padding.
Timing = tuple[float, float]


def decide_padding(
    operator: str,
    factors: tuple[torch.Tensor, torch.Tensor],
    summand: torch.Tensor | None,
    planned: Mapping[str, bool],
) -> None:
    """Let PyTorch's rule decide on a product (``mm``, ``addmm`` or ``bmm``) of tensors on the GPU;
    the rule times the product unless it has the answer. `planned` says for ``mat1`` and ``mat2``
    whether Inductor can plan their padded memory; the time of padding a planned input does not
    count.
    """
    from torch._inductor.fx_passes import pad_mm

    def is_time_excluded(match: object, name: str) -> bool:
        return planned[name]

    rule: Callable[..., bool] = inspect.unwrap(pad_mm._should_pad)
    with mock.patch.object(pad_mm, "should_exclude_padding_time", is_time_excluded):
        rule(None, *factors, getattr(torch.ops.aten, operator), summand)


@contextmanager
def collect_timings() -> Iterator[list[Timing]]:
    """Yield a list that gets each timing taken during the block, with the rule's caches off."""
    from torch._inductor.fx_passes import pad_mm

    timings: list[Timing] = []

    def note(key: str, plain: float, padded: float) -> bool:
        timings.append((plain, padded))
        return False

    with ExitStack() as stack:
        patch = stack.enter_context
        for name in ("get_cached_should_pad", "get_cached_base_mm_benchmark_time",
                     "set_cached_base_mm_benchmark_time"):  # fmt: skip
            patch(mock.patch.object(pad_mm, name, mock.Mock(return_value=None)))
        patch(mock.patch.object(pad_mm, "is_padded_faster", note))
        yield timings
