"""List the vector instruction sets (ISAs) that Inductor tries on this CPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names

NAMES = (
    Private("torch._inductor.cpu_vec_isa", "supported_vec_isa_list", "what Inductor may try"),
    Private("torch._inductor", "codecache", "compiles the file that tries one"),
    Private("torch._inductor.cpu_vec_isa", "x86_isa_checker", "what the CPU has"),
    Private("torch._inductor.cpu_vec_isa", "VecISA.check_build", "compiles and loads that file"),
    Private("torch._dynamo.utils", "dynamo_timed", "an event of its own in the times"),
)


def cpu_isas() -> list[Any]:
    """Return the ISAs that Inductor knows and this CPU has. ``bool(isa)`` says whether Inductor can
    use an ISA; to find out, Inductor compiles and loads a file.
    """
    from torch._inductor import codecache, cpu_vec_isa  # noqa: F401 - codecache: for that file

    available = set(cpu_vec_isa.x86_isa_checker())
    return [
        isa for isa in cpu_vec_isa.supported_vec_isa_list if available.issuperset(str(isa).split())
    ]


@contextmanager
def time_isa_trials() -> Iterator[None]:
    """Add an event to PyTorch's compile times for each ISA tried during the block. PyTorch's own
    event covers only the C++ compile, and not the Python process that loads the file (and, up to
    2.12, imports PyTorch).
    """
    from torch._dynamo.utils import dynamo_timed
    from torch._inductor.cpu_vec_isa import VecISA

    check = VecISA.check_build

    @functools.wraps(check)
    def check_in_event(self: Any, code: str) -> bool:
        with dynamo_timed(names.VECTOR_ISA):
            return check(self, code)

    with mock.patch.object(VecISA, "check_build", check_in_event):
        yield
