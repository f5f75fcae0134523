"""What a reader's function makes of a few calls: breaks, compiles, results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tclab.labs.exercise import Answer, Wrong

if TYPE_CHECKING:
    from tclab import Capture


def compiled(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> Capture:
    """Dynamo's part of these calls."""
    import tclab

    return tclab.capture(answer, backend="eager").over(calls)


def assert_whole(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> None:
    """These calls are compiled, and without a break."""
    capture = compiled(answer, calls)
    for first in capture.breaks:
        raise Wrong(f"{len(capture.breaks)} graph break(s): {first.reason}", first.location)
    assert capture.graphs, "nothing was compiled at all"


def assert_compiled_once(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> None:
    """One graph serves all of these calls."""
    capture = compiled(answer, calls)
    reason = next((f": {r.reasons[0]}" for r in capture.recompiles if r.reasons), "")
    number = len(capture.graphs)
    assert number == 1, f"{len(calls)} calls made {number} graphs{reason}"


def assert_same(result: Any, true: Any, of: str) -> None:
    """The result `of` such a call is right."""
    import torch

    kind = type(result).__name__
    assert isinstance(result, torch.Tensor), f"{of} it returned {kind}, not a tensor"
    shapes = f"{of} it returned the shape {tuple(result.shape)}, not {tuple(true.shape)}"
    assert result.shape == true.shape, shapes
    close = torch.allclose(result, true, rtol=1e-4, atol=1e-5)
    assert close, f"{of} it returned another result"
