"""Refusals that must reach the caller, although Dynamo makes graph breaks of errors in tracing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from tclab.errors import CaptureError, TclabError

P = ParamSpec("P")
R = TypeVar("R")
_errors: list[Exception] = []


def loud(stand_in: Callable[P, R]) -> Callable[P, R]:
    """Remember every error of a stand-in, whoever catches it."""

    @functools.wraps(stand_in)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return stand_in(*args, **kwargs)
        except Exception as error:
            _errors.append(error)
            raise

    return run


@contextmanager
def raising_the_first() -> Iterator[None]:
    """At the end of the block, raise the first error of a stand-in that was met in it."""
    _errors.clear()
    try:
        yield
    except Exception as error:
        if _errors and not isinstance(error, TclabError):
            raise _own(_errors[0]) from error
        raise
    else:
        if _errors:
            raise _own(_errors[0])
    finally:
        _errors.clear()


def forget_since(count: int) -> None:
    """Drop the errors after the first `count`: they were reported elsewhere."""
    del _errors[count:]


def count() -> int:
    """How many errors of stand-ins were met so far."""
    return len(_errors)


def _own(error: Exception) -> TclabError:
    if isinstance(error, TclabError):
        return error
    return CaptureError(
        "tclab.capture(target=…)",
        f"a stand-in for the GPU failed: {error!r}",
        "this is a fault of tclab with this torch: please report it",
    )
