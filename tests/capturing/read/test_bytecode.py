"""Bytecode of frames whose constants are objects of the module: functions across a break."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pytest
import torch

import tclab
from tclab.capturing.trace.constants import name_objects
from tests.nightly import one_in

API_KEY = "correct-horse-battery-staple"


class Secretive:
    """An object whose repr must not be called."""

    shown = 0

    def __repr__(self) -> str:
        Secretive.shown += 1
        raise RuntimeError("nobody may print this")


secretive = Secretive()
weights = torch.nn.Linear(8, 8)


def rest(fn: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor) -> torch.Tensor:
    """`fn` lives across two breaks, one of them in a resume function."""
    y = fn(y)
    torch._dynamo.graph_break()
    y = fn(y)
    torch._dynamo.graph_break()
    return fn(y)


def a_lambda(x):
    return rest(lambda y: weights(y).relu(), x)


def an_inner_function(x):
    scale = x.mean()

    def inner(y):
        return weights(y) * scale

    return rest(inner, x)


def a_nested_function(x):
    def outer(y):
        return inner(y) + 1

    def inner(y):
        return weights(y)

    return rest(outer, x)


def a_default_argument(x):
    def inner(y, activation=lambda z: z.relu(), *, shift=lambda z: z + 1):
        return shift(activation(weights(y)))

    return rest(inner, x)


def an_annotated_function(x):
    def inner(y: torch.Tensor, n: Secretive | None = None) -> torch.Tensor:
        return weights(y)

    return rest(inner, x)


def a_partial(x):
    def inner(n, y):
        return weights(y) * n

    return rest(functools.partial(inner, 2), x)


def a_closure_over_a_class(x):
    kind = Secretive

    def inner(y):
        return weights(y) if kind is not None else y

    return rest(inner, x)


def a_generator(x):
    def values(y):
        for n in range(2):
            yield weights(y) * n

    return rest(lambda y: sum(values(y)), x)


FUNCTIONS = (
    *(a_lambda, an_inner_function, a_nested_function, a_default_argument, an_annotated_function),
    *(a_partial, a_closure_over_a_class, a_generator),
)


@pytest.mark.parametrize("function", one_in(4, FUNCTIONS), ids=lambda f: f.__name__)
def test_a_function_across_a_break_is_shown_with_the_name_of_its_globals(function):
    x = torch.randn(4, 8)
    captured = tclab.capture(function)(x)
    assert len(captured.breaks) >= 2
    shown = "".join(listing.code for listing in captured.bytecode)
    assert f"(<globals of {__name__}>)" in shown
    assert API_KEY not in shown
    assert Secretive.shown == 0, "printing a repr runs code of the user's module"
    assert captured.chains, "the stages are linked"
    payloads = "".join(event.payload for event in captured.trace.events)
    assert API_KEY not in payloads


def test_the_bytecode_is_the_same_whatever_the_process_compiled_before():
    """The globals hold the names of all that Dynamo compiled in the module, with their numbers."""

    def listings() -> list[str]:
        return [listing.code for listing in tclab.capture(a_lambda)(torch.randn(4, 8)).bytecode]

    listings()  # Dynamo numbers the constants of its first compile of a function in another way
    before = listings()
    tclab.capture(an_inner_function)(torch.randn(4, 8))
    assert listings() == before


def test_each_object_among_the_constants_gets_a_name():
    def function():
        def inner():
            return 1

        return "a", 2.5, (3, ...), inner

    objects = ({"__builtins__": {}, "__name__": "m"}, [secretive], secretive, Secretive)
    atoms = (torch.float32, torch.device("cpu"), torch.Size([2]), None, slice(1, 2))
    code = function.__code__.replace(
        co_consts=(*function.__code__.co_consts, objects, atoms, {"__builtins__": {}})
    )
    named = name_objects(code)
    assert named.co_code == code.co_code
    *_, objects_, atoms_, nameless = map(repr, named.co_consts)
    here = re.escape(__name__)
    assert re.fullmatch(
        rf"\(<globals of m>, <builtins.list object>, <{here}.Secretive object>, "
        rf"<class '{here}.Secretive'>\)",
        objects_,
    )
    assert atoms_ == repr(atoms)
    assert nameless == "<globals of a module without a name>"
    assert [c for c in named.co_consts if type(c) in (str, float)] == ["a", 2.5]
