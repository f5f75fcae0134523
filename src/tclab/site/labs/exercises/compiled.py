"""Make assertions about the breaks, recompiles and results of a reader's compiled function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tclab.site.labs.exercise import Answer, WrongAnswer

if TYPE_CHECKING:
    from tclab import Capture


def capture_calls(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> Capture:
    """Capture Dynamo's part of the compile over these calls."""
    import tclab

    return tclab.capture(answer, backend="eager").over(calls)


def assert_whole(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> None:
    """Assert that these calls are compiled without a graph break."""
    capture = capture_calls(answer, calls)
    for first in capture.breaks:
        raise WrongAnswer(f"{len(capture.breaks)} graph break(s): {first.reason}", first.location)
    assert capture.graphs, "nothing was compiled at all"


def assert_compiled_once(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> None:
    """Assert that one graph is compiled for all of these calls."""
    capture = capture_calls(answer, calls)
    reason = next((f": {r.reasons[0]}" for r in capture.recompiles if r.reasons), "")
    number = len(capture.graphs)
    assert number == 1, f"{len(calls)} calls made {number} graphs{reason}"


def assert_same(result: Any, expected: Any, call: str) -> None:
    """Assert that `result` is close to `expected`; `call` names, in words, the call that returned
    it.
    """
    import torch

    kind = type(result).__name__
    assert isinstance(result, torch.Tensor), f"{call} it returned {kind}, not a tensor"
    shapes = f"{call} it returned the shape {tuple(result.shape)}, not {tuple(expected.shape)}"
    assert result.shape == expected.shape, shapes
    close = torch.allclose(result, expected, rtol=1e-4, atol=1e-5)
    assert close, f"{call} it returned another result"
