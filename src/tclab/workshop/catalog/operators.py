"""Samples of PyTorch's own operator database: the first three of each operator, in five types.

The samples are those with which PyTorch tests its operators (`op_db`, which is installed with
PyTorch and needs the package expecttest). A floating-point sample of an operator that has a
backward is differentiated, too.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from tclab.workshop.catalog.example import Example, FunctionCall

TYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool)
#: Samples of one operator in one type.
SAMPLES = 3


@functools.cache
def list_examples() -> dict[str, Example]:
    """Return name → example, such as ``operators/add-float32-0``, in the database's order.

    TclabError where expecttest is missing.
    """
    return {each.name: each for info in _database() for each in _examples_of(info)}


def _database() -> list[Any]:
    from tclab.errors import TclabError

    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        step = "install it: pip install expecttest"
        raise TclabError("the operator database of PyTorch", str(error), step) from error
    return list(op_db)


def _examples_of(info: Any) -> Iterator[Example]:
    for dtype in TYPES:
        if dtype not in info.supported_dtypes("cuda"):
            continue
        backward = info.supports_autograd and dtype in info.supported_backward_dtypes("cuda")
        short = str(dtype).removeprefix("torch.")
        for number in range(len(_make_samples(info, dtype, backward))):
            name = f"operators/{info.formatted_name}-{short}-{number}"
            make = functools.partial(_make_call, info, dtype, backward, number)
            yield Example(name, make, backward)


def _make_samples(info: Any, dtype: torch.dtype, backward: bool) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = info.sample_inputs("cpu", dtype, requires_grad=backward)
        return list(itertools.islice(samples, SAMPLES))


def _make_call(info: Any, dtype: torch.dtype, backward: bool, number: int) -> FunctionCall:
    """Make a function of a sample's input, arguments and keyword arguments, and these three.

    A device among the keyword arguments is the GPU: an operator that makes a tensor makes it there.
    """
    sample = _make_samples(info, dtype, backward)[number]
    keywords = sample.kwargs | ({"device": "cuda"} if "device" in sample.kwargs else {})

    def apply(first: Any, others: Any, named: Any) -> Any:
        return info.op(first, *others, **named)

    return apply, (sample.input, tuple(sample.args), keywords)
