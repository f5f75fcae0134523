"""A compile observed for a test: at which level, and whose code counts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tclab import machine
from tclab.errors import BadRequest
from tclab.model import Break, BreakIdentity, Snapshot, SourceLine
from tclab.snapshot import take

if TYPE_CHECKING:
    from tclab.capturing import Capture

#: Above Inductor: what compiles as far as this level, and neither C++ nor Triton.
_BACKENDS = {"dynamo": "eager", "graphs": "aot_eager_decomp_partition"}
#: What torch.compile takes whatever the backend.
_COMMON = ("dynamic", "fullgraph")


@dataclass(frozen=True)
class Observed:
    """One compile. `snapshot` has the breaks and recompiles that count; `breaks` are the same
    breaks with reasons and hints, in its order; `theirs` the breaks in other code.
    """

    snapshot: Snapshot
    breaks: tuple[Break, ...] = ()
    theirs: tuple[BreakIdentity, ...] = ()

    def break_of(self, title: str) -> Break | None:
        """The break that a comparison calls so."""
        pairs = zip(self.snapshot.breaks, self.breaks)
        return next((item for identity, item in pairs if str(identity) == title), None)


def compiled(
    fn: Callable[..., Any],
    calls: Sequence[tuple[object, ...]],
    *,
    level: str,
    target: str | None = None,
    backward: bool = False,
    within: str = "",
    title: str = "",
    options: Mapping[str, Any] | None = None,
) -> Observed:
    """`fn` compiled as if for the first time and called with each of `calls`; gradients, buffers
    and random numbers are afterwards as they were.
    """
    captured = captured_at(
        fn, calls, level=level, target=target, backward=backward, options=options
    )
    if level == "machine":
        captured.compile_kernels()
    return observed(captured, within, title, target or "")


def seconds(fn: Callable[..., Any], calls: Sequence[tuple[object, ...]], **how: Any) -> float:
    """What PyTorch took to compile `fn` as `captured_at` does, without the code of kernels."""
    return captured_at(fn, calls, **how).compile_time.seconds


def captured_at(
    fn: Callable[..., Any],
    calls: Sequence[tuple[object, ...]],
    *,
    level: str,
    target: str | None = None,
    backward: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Capture:
    """The compile of `fn` as far as a level goes, down to the kernels' text."""
    from tclab.capturing import capture

    how = dict(options or {})
    if level in _BACKENDS:
        how = {name: how[name] for name in _COMMON if name in how} | {"backend": _BACKENDS[level]}
    elif target is not None:
        how["target"] = target
    with _as_before(fn, calls):
        return capture(fn, backward=backward, **how).over(calls)


def observed(capture: Capture, within: str = "", title: str = "", target: str = "") -> Observed:
    """What was captured. Of breaks and recompiles those in the package `within` count; guards, of
    which nobody knows whose they are, then not at all.
    """
    snapshot = take(capture, machine.here(), title, target)
    pairs = list(zip(snapshot.breaks, capture.breaks))
    mine = [pair for pair in pairs if _is_within(pair[1].location, within)]
    recompiles = zip(snapshot.recompiles, capture.recompiles.recompiles)
    kept = replace(
        snapshot,
        breaks=tuple(identity for identity, _ in mine),
        recompiles=tuple(each for each, item in recompiles if _is_within(item.location, within)),
    )
    if within:
        kept = replace(kept, guards=0, python_guards=0)
    theirs = tuple(identity for identity, item in pairs if not _is_within(item.location, within))
    return Observed(kept, tuple(item for _, item in mine), theirs)


def _is_within(place: SourceLine | None, package: str) -> bool:
    """Whether a line is of a package, or of a module, by its dotted name; '' has every line."""
    if not package:
        return True
    parts = (place.file if place else "").removesuffix(".py").split("/")
    name = package.split(".")
    return any(parts[at : at + len(name)] == name for at in range(len(parts)))


@contextlib.contextmanager
def watched() -> Iterator[Capture]:
    """Whatever compiles in the block, as if nothing had been compiled before."""
    from tclab.capturing import capture
    from tclab.capturing.fresh import fresh

    with fresh(_nothing), capture() as captured:
        yield captured


def _nothing() -> None:
    """A function that no compile is of."""


@contextlib.contextmanager
def _as_before(fn: Callable[..., Any], calls: Iterable[tuple[object, ...]]) -> Iterator[None]:
    """Put gradients, buffers and PyTorch's random numbers back after the block."""
    import torch

    module = fn if isinstance(fn, torch.nn.Module) else None
    arguments = [each for call in calls for each in call if isinstance(each, torch.Tensor)]
    leaves = [*(module.parameters() if module else ()), *filter(_is_leaf, arguments)]
    grads = [(leaf, leaf.grad) for leaf in leaves]
    buffers = [(buffer, buffer.clone()) for buffer in (module.buffers() if module else ())]
    for leaf, _ in grads:
        leaf.grad = None
    try:
        with torch.random.fork_rng():
            yield
    finally:
        for leaf, grad in grads:
            leaf.grad = grad
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)


def _is_leaf(tensor: Any) -> bool:
    return bool(tensor.is_leaf)


def split_calls(inputs: tuple[object, ...]) -> list[tuple[object, ...]]:
    """The calls that ``compiled(model, x, y)`` or ``compiled(model, [(x,), (y,)])`` names."""
    first = inputs[0] if len(inputs) == 1 else None
    if not isinstance(first, list) or not all(isinstance(call, tuple) for call in first):
        return [inputs]
    if not first:
        raise BadRequest("compiled(model, [])", "there is no call", "name one: [(x,)]")
    return first
