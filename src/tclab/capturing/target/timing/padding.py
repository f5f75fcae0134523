"""Whether Inductor pads a matrix product: by its own rule, up to where it would time it.

torch/_inductor/fx_passes/pad_mm.py: `can_pad` says that a size is not a multiple of what suits the
type. `_should_pad` then asks `is_mm_compute_bound`, which compares the product's arithmetic
intensity with the device's balance, and times both ways where that is exceeded. The balance comes
from a table of data sheets by device name (torch/_inductor/analysis/device_info.py) and, for the
many names that are not in it, from the clocks: there the operations per second come out a
thousandth of what they are (MHz are taken for kHz), so that nearly every product is timed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from tclab.capturing.target.decisions import Decision, decided
from tclab.capturing.target.places import of_node
from tclab.capturing.target.refusals import loud
from tclab.capturing.target.timing.timed import answer
from tclab.model import TimedQuestion
from tclab.targets import Target


@contextmanager
def chosen_for(target: Target) -> Iterator[None]:
    """For the length of the block, matrix products are padded as on `target`."""
    from torch._inductor.fx_passes import pad_mm

    own = _should_pad(inspect.unwrap(pad_mm._should_pad), target)
    with mock.patch.object(pad_mm, "_should_pad", loud(own)):
        yield


class _Timed(Exception):
    """Where PyTorch would look up by its key what it timed."""


def _should_pad(rule: Callable[..., bool], target: Target) -> Callable[..., bool]:
    """PyTorch's `rule`, without the answers it keeps from other devices."""

    def should_pad(
        match: Any, mat1: torch.Tensor, mat2: torch.Tensor, op: Any, *rest: Any, **named: Any
    ) -> bool:
        shapes = " @ ".join(str(list(m.shape)) for m in (mat1, mat2))
        operator, place = f"{op.__name__} of {shapes}", of_node(match.output_node())
        try:
            with _as_on(target):
                pads = rule(match, mat1, mat2, op, *rest, **named)
        except _Timed as timed:
            return answer(TimedQuestion("pad", operator, place, str(timed))) == "yes"
        why = "by PyTorch's rule: it is not compute-bound, or padding is forced"
        decided(Decision(operator, place, f"pad={'yes' if pads else 'no'}", why))
        return pads

    return should_pad


@contextmanager
def _as_on(target: Target) -> Iterator[None]:
    """The rule asks for clocks, and then for what was timed before."""
    from torch import _utils_internal
    from torch._inductor.fx_passes import pad_mm

    def look_up(key: str) -> bool:
        raise _Timed(key)

    def clock(device: int | None = None) -> int:
        return target.clocks.multiprocessor

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(pad_mm, "get_cached_should_pad", look_up))
        stack.enter_context(mock.patch.object(_utils_internal, "max_clock_rate", clock))
        for name, value in (("current_accelerator", _CUDA), ("current_device_index", 0)):
            constant = mock.Mock(return_value=value)
            stack.enter_context(mock.patch.object(torch.accelerator, name, constant))
        yield


_CUDA = torch.device("cuda")
