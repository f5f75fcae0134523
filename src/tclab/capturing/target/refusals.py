"""Raise refusals to the caller, although Dynamo turns errors in tracing into graph breaks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from tclab.errors import CaptureError, TclabError

P = ParamSpec("P")
R = TypeVar("R")
_errors: list[Exception] = []


def remember_errors(replacement: Callable[P, R]) -> Callable[P, R]:
    """Wrap the replacement of a PyTorch function so that each of its errors is kept, even if
    PyTorch catches the error.
    """

    @functools.wraps(replacement)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return replacement(*args, **kwargs)
        except Exception as error:
            _errors.append(error)
            raise

    return run


@contextmanager
def raising_first_error() -> Iterator[None]:
    """Raise, at the end of the block, the first error that a replacement raised within it."""
    _errors.clear()
    try:
        yield
    except Exception as error:
        if _errors and not isinstance(error, TclabError):
            raise _as_tclab_error(_errors[0]) from error
        raise
    else:
        if _errors:
            raise _as_tclab_error(_errors[0])
    finally:
        _errors.clear()


def forget_errors_after(count: int) -> None:
    """Drop all errors after the first `count`, because they were reported as gaps."""
    del _errors[count:]


def count_errors() -> int:
    """Count the errors that replacements have raised so far."""
    return len(_errors)


def _as_tclab_error(error: Exception) -> TclabError:
    if isinstance(error, TclabError):
        return error
    return CaptureError(
        "tclab.capture(target=…)",
        f"a stand-in for the GPU failed: {error!r}",
        "this is a fault of tclab with this torch: please report it",
    )
