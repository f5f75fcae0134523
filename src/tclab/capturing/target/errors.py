"""Errors met while compiling for a target: our own out of what wraps them, or named."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tclab import user_lines
from tclab.capturing.target import device, gaps, refusals
from tclab.errors import TclabError
from tclab.targets import TargetError

E = TypeVar("E", bound=BaseException)


@contextmanager
def gap_noted() -> Iterator[None]:
    """A refusal in the block is noted as a gap, and what is after the block goes on."""
    before = refusals.count()
    try:
        with plain_errors():
            yield
    except TargetError as refusal:
        refusals.forget_since(before)
        gaps.note(refusal)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise our own error where Dynamo wrapped it, and name code that needs the GPU itself."""
    try:
        yield
    except Exception as error:
        if own := _own(error):
            raise own from None
        if skipped := _skipped(error):
            raise skipped from error
        if needs := _needs_device(error):
            raise needs from error
        raise


def _own(error: BaseException | None) -> TclabError | None:
    return within(error, TclabError)


def within(error: BaseException | None, kind: type[E]) -> E | None:
    """The first error of a kind that an error is or wraps."""
    return next((each for each in _chain(error) if isinstance(each, kind)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it wraps."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inner = getattr(error, "inner_exception", None)
        error = inner or error.__cause__ or error.__context__


#: What PyTorch says of an operation on tensors of two devices.
_TWO_DEVICES = (
    "Expected all tensors to be on the same device",
    "found two different devices",
    "FakeTensor is wrapped to wrong device",
)


def mixes_devices(error: BaseException) -> bool:
    """Whether an operation failed because its tensors are not all on one device."""
    return any(text in str(each) for each in _chain(error) for text in _TWO_DEVICES)


_NO_DEVICE = (
    "not compiled with CUDA",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "not linked with support for cuda",
    "from the 'CUDA' backend",
    "CUDA driver version is insufficient",
    device.CANNOT_RUN,
)


def _needs_device(error: BaseException) -> TargetError | None:
    if not any(text in str(error) for text in _NO_DEVICE):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    lines = user_lines.users(frames, lambda frame: frame.filename)
    place = "the function"
    for line in lines[-1:]:
        place = f"{os.path.basename(line.filename)}:{line.lineno}"
    first = str(error).splitlines()[0]
    return TargetError(
        place,
        f"this line wants the GPU itself ({first[:120]})",
        "keep it inside one graph (fullgraph=True shows why it is not), or move it out of the "
        "function",
    )


def _skipped(error: BaseException) -> TargetError | None:
    """Inductor gives up on a graph with bfloat16 where the GPU has none (compile_fx.py:
    _check_triton_bf16_support).
    """
    if "BF16 is not supported" not in str(error):
        return None
    return TargetError(
        "bfloat16",
        "PyTorch does not compile it for this GPU, which has no such instructions: on the device "
        "torch.compile raises SkipFrame, BF16 is not supported",
        "use float16 or float32 for this GPU",
    )
