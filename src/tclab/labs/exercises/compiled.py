"""What a reader's function makes of a few calls: breaks, compiles, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tclab.labs.exercise import all_of

if TYPE_CHECKING:
    from tclab import Capture

Answer = Callable[..., Any]


def compiled(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> Capture:
    """Dynamo's part of these calls."""
    import tclab

    return tclab.capture(answer, backend="eager").over(calls)


def whole(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> str:
    """What is wrong with the graphs of these calls, as far as breaks go."""
    capture = compiled(answer, calls)
    first = next(iter(capture.breaks), None)
    why = f"{first.reason} ({first.location or 'no line'})" if first else ""
    return all_of(
        (not capture.breaks, f"{len(capture.breaks)} graph break(s): {why}"),
        (len(capture.graphs) > 0, "nothing was compiled at all"),
    )


def once(answer: Answer, calls: Sequence[tuple[Any, ...]]) -> str:
    """What is wrong with the number of compiles of these calls."""
    capture = compiled(answer, calls)
    reason = next((f": {r.reasons[0]}" for r in capture.recompiles if r.reasons), "")
    text = f"{len(calls)} calls made {len(capture.graphs)} graphs{reason}"
    return all_of((len(capture.graphs) == 1, text))


def same(said: Any, true: Any, of: str) -> str:
    """What is wrong with a result, `of` such a call."""
    import torch

    assert isinstance(said, torch.Tensor), f"{of} it returned {type(said).__name__}, not a tensor"
    text = f"{of} it returned another result"
    shapes = f"{of} it returned the shape {tuple(said.shape)}, not {tuple(true.shape)}"
    close = said.shape == true.shape and torch.allclose(said, true, rtol=1e-4, atol=1e-5)
    return all_of((said.shape == true.shape, shapes), (close, text))
