"""Noting origins changes no code that is generated, and leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import linked_functions as functions
import pytest
import torch
from torch import fx

import tclab
from tclab.capturing.torch_private import compiler, origins, origins_kernels
from tclab.capturing.torch_private.private import describe_missing
from tclab.capturing.trace import events, notes


def state() -> dict[str, object]:
    """Everything `recording` may replace."""
    found: dict[str, object] = {}
    with_notes = notes.Collector([], compiler.current_compile_ids)
    for owner, name, _ in origins._list_patches(with_notes):
        found[f"{owner.__name__}.{name}"] = vars(owner).get(name)
    found["meta fields"] = tuple(fx.proxy._COPY_META_FIELDS)
    found["active"] = tuple(origins._active_collectors)
    return found


def fails(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    raise ValueError(f"no luck with {tuple(y.shape)}")


def generated(name: str, target: str | None) -> list[str]:
    """Return the output code, without numbers that PyTorch counts through the whole process."""
    inputs = [torch.ones(64, 256, requires_grad=True)]
    inputs += [torch.ones(256, requires_grad=True) for _ in range(2 * (name == "layer_norm"))]
    capture = tclab.capture(getattr(functions, name), target=target, backward=True)(*inputs)
    code = [event.payload for event in capture.trace.select("inductor_output_code")]
    counted = r"^# AOT ID: .*|(?<=\[Provenance debug handles\] )(\w+):\d+$"
    return [re.sub(counted, r"\1", text, flags=re.MULTILINE) for text in code]


@contextmanager
def no_notes(trace: events.Trace) -> Iterator[None]:
    yield


@pytest.mark.parametrize("target", ["h200", None])
@pytest.mark.parametrize("name", ["relu_chain", "layer_norm"])
def test_the_generated_code_is_the_same_without_notes(
    name: str, target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = generated(name, target)
    monkeypatch.setattr(origins, "note_origins", no_notes)
    assert generated(name, target) == noted
    assert len(noted) == 2


@pytest.mark.parametrize("fn", [functions.relu_chain, fails])
def test_every_patch_is_undone(fn: object) -> None:
    before = state()
    try:
        tclab.capture(fn, target="h200")(torch.randn(16))
    except ValueError:
        pass
    else:
        assert fn is functions.relu_chain
    assert state() == before
    assert origins_kernels.lowered_marks.get() == ()


def test_a_capture_inside_a_capture_has_its_own_chain() -> None:
    before = state()
    with tclab.capture() as outer:
        inner = tclab.capture(functions.softmax)(torch.randn(8, 16))
    assert state() == before
    for capture in (outer, inner):
        (chain,) = capture.chains()
        kernels = [p for p in chain.panes if p.stage == "cpp"]
        assert kernels and all(p.links for p in kernels)


def test_all_private_names_are_there() -> None:
    assert describe_missing(origins.NAMES) == []
