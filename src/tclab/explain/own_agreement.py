"""Compare a file that compiles its parts itself with the same file without torch.compile. Each run
of the calls imports the file anew, so that it starts where the reader's program starts.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from tclab.explain import load, subject
from tclab.explain.request import ExplainRequest
from tclab.explain.trials import arguments
from tclab.explain.trials.patching import patched_compile
from tclab.explain.trials.remedy import Remedy

if TYPE_CHECKING:
    from tclab.capturing.agreement.anew import ComparisonAnew, Program

_NUMBERS = itertools.count(1)
_UNCOMPILED = Remedy(compiled=False)
UNCHANGED = Remedy(backend="inductor")


def begin(
    request: ExplainRequest, named_subject: subject.Subject, remedy: Remedy = UNCHANGED
) -> ComparisonAnew:
    """Begin a comparison of the calls of `named_subject`, which is what the request names. The
    compiled side runs with the remedy.
    """
    from tclab.capturing.agreement.anew import ComparisonAnew

    @contextmanager
    def make_uncompiled() -> Iterator[Program]:
        with patched_compile(_UNCOMPILED), _import_anew(request, _UNCOMPILED) as program:
            yield program

    @contextmanager
    def make(options: Mapping[str, Any]) -> Iterator[Program]:
        with (
            patched_compile(remedy),
            _compile_with(options),
            _import_anew(request, remedy) as program,
        ):
            yield program

    return ComparisonAnew.begin_anew(
        _make_program(named_subject, remedy), request.backward, make_uncompiled, make
    )


def _make_program(named_subject: subject.Subject, remedy: Remedy) -> Program:
    function = named_subject.callable
    calls = arguments.change_arguments(function, named_subject.calls(), remedy)
    return function, [(call.args, dict(call.kwargs)) for call in calls]


@contextmanager
def _import_anew(request: ExplainRequest, remedy: Remedy) -> Iterator[Program]:
    """Import the file anew. Its module gets a unique name, by which Dynamo finds the variables of
    this import and not those of another one.
    """
    where, _ = load.split(request.spec)
    with load.import_module(where, remedy.lines, suffix=f"_{next(_NUMBERS)}") as module:
        try:
            named_subject = subject.find_requested(module, request)
            yield _make_program(named_subject, remedy)
        finally:
            sys.modules.pop(module.__name__, None)


@contextmanager
def _compile_with(options: Mapping[str, Any]) -> Iterator[None]:
    """Make the reader's own calls of torch.compile use these options in the block."""
    import torch

    original = torch.compile

    def compile_with(model: Any = None, **how: Any) -> Any:
        left_out = ("mode", "options") if "backend" in options else ()
        kept = {name: value for name, value in how.items() if name not in left_out}
        return original(model, **{**kept, **options})

    # the wrapper compiles, too, so it gets the attributes of torch.compile
    functools.update_wrapper(compile_with, original)
    with mock.patch.object(torch, "compile", compile_with if options else original):
        yield
