"""Unwrap tclab's own errors from a compile for a target, and explain PyTorch's errors."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tclab.capturing.target import device, gaps, refusals
from tclab.errors import TclabError
from tclab.targets import TargetError
from tclab.text import user_lines

E = TypeVar("E", bound=BaseException)


@contextmanager
def noting_refusals_as_gaps() -> Iterator[None]:
    """If the block raises a TargetError, record it as a gap and go on after the block."""
    before = refusals.count_errors()
    try:
        with raising_plain_errors():
            yield
    except TargetError as refusal:
        refusals.forget_errors_after(before)
        gaps.note_gap(refusal)


@contextmanager
def raising_plain_errors() -> Iterator[None]:
    """Replace an error of the block by the TclabError that it wraps, or by a TargetError if code
    needs the GPU itself.
    """
    try:
        yield
    except Exception as error:
        if ours := _tclab_error(error):
            raise ours from None
        if no_bfloat16 := _bfloat16_error(error):
            raise no_bfloat16 from error
        if missing := _missing_gpu_error(error):
            raise missing from error
        raise


def _tclab_error(error: BaseException | None) -> TclabError | None:
    return find_wrapped(error, TclabError)


def find_wrapped(error: BaseException | None, kind: type[E]) -> E | None:
    """Return the first error of class `kind` among an error and the errors that it wraps, or
    None.
    """
    return next((wrapped for wrapped in _wrapped_errors(error) if isinstance(wrapped, kind)), None)


def _wrapped_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then the errors that it wraps, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inner = getattr(error, "inner_exception", None)
        error = inner or error.__cause__ or error.__context__


#: Texts of PyTorch's errors for an operation on tensors of two devices.
_TWO_DEVICES_TEXTS = (
    "Expected all tensors to be on the same device",
    "found two different devices",
    "FakeTensor is wrapped to wrong device",
)


def mixes_devices(error: BaseException) -> bool:
    """Return whether an operation failed because its tensors are on different devices."""
    return any(
        text in str(wrapped) for wrapped in _wrapped_errors(error) for text in _TWO_DEVICES_TEXTS
    )


#: Texts of errors where code asks for the GPU that is not there.
_NO_DEVICE_TEXTS = (
    "not compiled with CUDA",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "not linked with support for cuda",
    "Cannot get CUDA generator",
    "no CUDA-capable device is detected",
    "from the 'CUDA' backend",
    "CUDA driver version is insufficient",
    device.CANNOT_RUN,
)


def _missing_gpu_error(error: BaseException) -> TargetError | None:
    """Return a TargetError that names the user's line if the line asked for the GPU itself, else
    None.
    """
    if not any(text in str(error) for text in _NO_DEVICE_TEXTS):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    lines = user_lines.select_user_lines(frames, lambda frame: frame.filename)
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


def _bfloat16_error(error: BaseException) -> TargetError | None:
    """Return a TargetError if Inductor skipped a graph because the GPU has no bfloat16
    (compile_fx.py: _check_triton_bf16_support), else None.
    """
    if "BF16 is not supported" not in str(error):
        return None
    return TargetError(
        "bfloat16",
        "PyTorch does not compile it for this GPU, which has no such instructions: on the device "
        "torch.compile raises SkipFrame, BF16 is not supported",
        "use float16 or float32 for this GPU",
    )
