"""Plant a difference in place of a compile, and ask for the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tclab.capturing import capture
from tclab.capturing.agreement import Comparison
from tclab.explain.seeds import seeded
from tclab.model import Agreement

Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


def compared(
    fn: Callable[..., Any], *calls: tuple[Any, ...], backward: bool = False, backend: str = "eager"
) -> Agreement:
    """Return the verdict on a compile of `fn`, as `tclab explain` asks for it."""
    made: Calls = [(call, {}) for call in calls]
    comparison = Comparison.begin(fn, made, backward)
    assert not isinstance(comparison, str)
    with seeded():
        asked = capture(fn, backward=backward, backend=backend)
        asked.capture_calls(made, on_result=comparison.add_result)
    return comparison.agreement({"backend": backend})


def planted(fn: Callable[..., Any], other: Callable[..., Any], *args: Any) -> Agreement:
    """Return the verdict on `other` in place of a compile, without where a difference comes
    from.
    """
    comparison = Comparison.begin(fn, [(args, {})], backward=False)
    assert not isinstance(comparison, str)
    try:
        comparison.add_result(other(*args))
    except Exception as error:
        comparison.observed.error = error
    comparison.compiled = lambda *_, **__: comparison.observed  # type: ignore[method-assign]
    comparison._first_operator = lambda _: None  # type: ignore[method-assign]
    return comparison.agreement({})
