"""Sample PyTorch's own operator database: the first three samples of each operator, in five types.

The samples are those with which PyTorch tests its operators (`op_db`, which is installed with
PyTorch and needs the package expecttest). A floating-point sample of an operator that has a
backward is differentiated, too.
"""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from tclab.workshop.catalog.example import Example, FunctionCall

TYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool)
#: The number of samples of one operator in one type.
SAMPLES = 3


@functools.cache
def list_examples() -> dict[str, Example]:
    """Return the examples by name, such as ``operators/add-float32-0``, in the database's order.

    Raises TclabError if expecttest is missing.
    """
    return {each.name: each for info in _load_database().values() for each in _make_examples(info)}


def find(name: str) -> Example:
    """Return one example without drawing the samples of all operators. Raises KeyError if there is
    no such example.
    """
    operator, short, number = name.removeprefix("operators/").rsplit("-", 2)
    return _make_example(_load_database()[operator], getattr(torch, short), int(number))


def list_cpu_names() -> list[str]:
    """Return the names that examples on the CPU can have. No samples are drawn, so that an operator
    may have fewer.
    """
    return [
        _make_name(info, dtype, number)
        for info in _load_database().values()
        for dtype in TYPES
        if dtype in info.supported_dtypes("cpu")
        for number in range(SAMPLES)
    ]


def find_on_cpu(name: str) -> Example | None:
    """Return the example whose tensors stay on the CPU; None if the operator has fewer samples."""
    operator, short, number = name.removeprefix("operators/").rsplit("-", 2)
    info, dtype = _load_database()[operator], getattr(torch, short)
    example = _make_example(info, dtype, int(number), "cpu")
    samples = _make_samples(info, dtype, example.backward)
    return example if int(number) < len(samples) else None


@functools.cache
def _load_database() -> dict[str, Any]:
    """Return the operators by name. Their supported types are those of a GPU, even without one, so
    that both sides of a comparison list the same examples.
    """
    from tclab.errors import TclabError

    try:
        from torch.testing._internal import common_cuda

        name_of_generation = r"SM[5-8]\dOrLater"
        has: dict[str, Any] = {
            n: True for n in vars(common_cuda) if re.fullmatch(name_of_generation, n)
        }
        with mock.patch.multiple(common_cuda, **has):
            from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        step = "install it: pip install expecttest"
        raise TclabError("the operator database of PyTorch", str(error), step) from error
    return {info.formatted_name: info for info in op_db}


def _make_examples(info: Any) -> Iterator[Example]:
    for dtype in TYPES:
        if dtype not in info.supported_dtypes("cuda"):
            continue
        for number in range(len(_make_samples(info, dtype, _has_backward(info, dtype)))):
            yield _make_example(info, dtype, number)


def _make_example(info: Any, dtype: torch.dtype, number: int, device: str = "cuda") -> Example:
    backward = _has_backward(info, dtype, device)
    make = functools.partial(_make_call, info, dtype, backward, number, device)
    return Example(_make_name(info, dtype, number), make, backward)


def _make_name(info: Any, dtype: torch.dtype, number: int) -> str:
    return f"operators/{info.formatted_name}-{str(dtype).removeprefix('torch.')}-{number}"


def _has_backward(info: Any, dtype: torch.dtype, device: str = "cuda") -> bool:
    return bool(info.supports_autograd and dtype in info.supported_backward_dtypes(device))


def _make_samples(info: Any, dtype: torch.dtype, backward: bool) -> list[Any]:
    """Draw the same samples in each process, whether it sees a GPU or not."""
    from torch.testing._internal.common_utils import set_rng_seed

    set_rng_seed(0)
    with (
        warnings.catch_warnings(),
        mock.patch.object(torch.cuda, "is_available", return_value=False),
    ):
        warnings.simplefilter("ignore")
        samples = info.sample_inputs("cpu", dtype, requires_grad=backward)
        return list(itertools.islice(samples, SAMPLES))


def _make_call(
    info: Any, dtype: torch.dtype, backward: bool, number: int, device: str
) -> FunctionCall:
    """Return the function to compile, and its arguments: the sample's input, arguments and keyword
    arguments.

    A device among the keyword arguments is replaced by `device`, so that an operator that makes a
    tensor makes it there.
    """
    sample = _make_samples(info, dtype, backward)[number]
    keywords = sample.kwargs | ({"device": device} if "device" in sample.kwargs else {})

    def apply(first: Any, others: Any, named: Any) -> Any:
        return info.op(first, *others, **named)

    return apply, (sample.input, tuple(sample.args), keywords)
