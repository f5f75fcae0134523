"""Options of torch.compile: what is refused is named, with what there is instead."""

from __future__ import annotations

import pytest
import torch

from tclab.errors import BadRequest
from tclab.explain import options


def test_own_options_and_those_of_inductor_are_told_apart():
    read = options.parse(["mode=max-autotune", "shape_padding=False", "dynamic=True"])
    assert read == {"mode": "max-autotune", "dynamic": True, "options": {"shape_padding": False}}


@pytest.mark.parametrize("text", ["mode", "=3", ""])
def test_an_option_without_name_or_value_is_refused(text):
    with pytest.raises(BadRequest, match="no value"):
        options.parse([text])


TAKEN = [
    {},
    {"mode": "max-autotune"},
    {"mode": None, "dynamic": None, "fullgraph": False},
    {"options": {"shape_padding": False}},
]


@pytest.mark.parametrize("given", TAKEN)
def test_what_torch_takes_is_taken(given):
    options.check(given)


REFUSED = [
    # options, place, what the message says
    ({"mode": "fast"}, "--option mode=fast", "no such mode.*modes are default, .*max-autotune"),
    ({"mode": "max-autotun"}, "--option mode=max-autotun", "did you mean max-autotune?"),
    ({"mode": 3}, "--option mode=3", "the modes are default"),
    ({"dynamic": "yes"}, "--option dynamic=yes", "one of True, False, None"),
    ({"fullgraph": 1}, "--option fullgraph=1", "one of True, False"),
    ({"options": {"shape_pading": 1}}, "--option shape_pading=1", "did you mean shape_padding?"),
    ({"options": {"zzzz": 1}}, "--option zzzz=1", "list_options"),
    ({"options": {"max_autotune": 3}}, "--option max_autotune=3", "of type int.*give it a bool"),
    ({"mode": "default", "options": {"debug": True}}, "--option mode, debug", "both"),
]


@pytest.mark.parametrize(("given", "place", "said"), REFUSED, ids=[str(r[0]) for r in REFUSED])
def test_what_torch_refuses_is_named(given, place, said):
    with pytest.raises(BadRequest, match=f"(?s){said}") as raised:
        options.check(given)
    assert raised.value.place == place and raised.value.next_step


def test_every_mode_that_is_listed_is_taken():
    with pytest.raises(BadRequest) as raised:
        options.check({"mode": "fast"})
    listed = raised.value.next_step.removeprefix("the modes are ").split(", ")
    assert len(listed) > 3
    for mode in listed:
        torch.compile(torch.sin, mode=mode)
