"""Decide whether Inductor pads a matrix product: run Inductor's own rule until it would time the
product.

In torch/_inductor/fx_passes/pad_mm.py, `can_pad` checks that a size is not aligned for the type.
`_should_pad` then asks `is_mm_compute_bound` whether the product's arithmetic intensity exceeds the
device's balance (operations per byte), and if it does, times the product with and without padding.
The balance comes from a table of data sheets by device name
(torch/_inductor/analysis/device_info.py). For the many names that the table lacks, PyTorch computes
it from the clocks, but takes MHz for kHz. The computed operations per second are a thousand times
too low, so PyTorch times nearly all products.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from tclab.capturing.target.decisions import Decision, note_decision
from tclab.capturing.target.refusals import remember_errors
from tclab.capturing.target.timing.timed import answer_question
from tclab.capturing.target.traced_lines import find_line_of_node
from tclab.model import TimedQuestion
from tclab.targets import Target


@contextmanager
def deciding_padding_for(target: Target, backward: bool) -> Iterator[None]:
    """Pad matrix products within the block as on `target`. Products of gradients are padded only
    with `backward`.
    """
    from torch._inductor.fx_passes import pad_mm

    replacement = _decide_padding(inspect.unwrap(pad_mm._should_pad), target, backward)
    with mock.patch.object(pad_mm, "_should_pad", remember_errors(replacement)):
        yield


class _WouldTime(Exception):
    """Raised where PyTorch would look up an earlier timing by a key."""


def _decide_padding(
    rule: Callable[..., bool], target: Target, backward: bool
) -> Callable[..., bool]:
    """Replace ``pad_mm._should_pad``: ask PyTorch's `rule`, but not its cache, which has answers
    for other devices.
    """

    def should_pad(
        match: Any, mat1: torch.Tensor, mat2: torch.Tensor, op: Any, *rest: Any, **named: Any
    ) -> bool:
        if not backward and _is_of_gradient(match.output_node()):
            return False
        shapes = " @ ".join(str(list(m.shape)) for m in (mat1, mat2))
        operator, place = f"{op.__name__} of {shapes}", find_line_of_node(match.output_node())
        try:
            with _patching_for_rule(target):
                pads = rule(match, mat1, mat2, op, *rest, **named)
        except _WouldTime as key:
            return answer_question(TimedQuestion("pad", operator, place, str(key))) == "yes"
        why = "by PyTorch's rule: it is not compute-bound, or padding is forced"
        note_decision(Decision(operator, place, f"pad={'yes' if pads else 'no'}", why))
        return pads

    return should_pad


def _is_of_gradient(node: torch.fx.Node) -> bool:
    """Return whether a node of a joint graph belongs to the backward, as AOTAutograd marked it."""
    return bool(node.meta.get("partitioner_tag") == "is_backward")


@contextmanager
def _patching_for_rule(target: Target) -> Iterator[None]:
    """Answer the rule's questions for `target`: the device, its clock in MHz, and earlier
    timings.
    """
    from torch import _utils_internal
    from torch._inductor.fx_passes import pad_mm

    def look_up(key: str) -> bool:
        raise _WouldTime(key)

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
