"""The sets of vector instructions that Inductor may try on this CPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names

NAMES = (
    Private("torch._inductor.cpu_vec_isa", "supported_vec_isa_list", "what Inductor may try"),
    Private("torch._inductor", "codecache", "compiles the file that tries one"),
    Private("torch._inductor.cpu_vec_isa", "x86_isa_checker", "what the CPU has"),
    Private("torch._inductor.codecache", "write", "says where that file lies"),
    Private("torch._inductor.cpu_vec_isa", "VecISA.check_build", "compiles and loads that file"),
    Private("torch._dynamo.utils", "dynamo_timed", "an event of its own in the times"),
)


def candidates() -> list[Any]:
    """Those the CPU has. Whether one is used, its ``bool`` says: a file is compiled and loaded."""
    from torch._inductor import codecache, cpu_vec_isa  # noqa: F401 - codecache: for that file

    has = set(cpu_vec_isa.x86_isa_checker())
    return [isa for isa in cpu_vec_isa.supported_vec_isa_list if has.issuperset(str(isa).split())]


def try_out(isa: Any) -> set[Path]:
    """Try one of the candidates; the files that it left in Inductor's cache, by which the next
    process knows without a compiler.
    """
    from torch._inductor import codecache

    sources: list[Path] = []
    write = codecache.write

    def noting(*args: Any, **options: Any) -> tuple[str, str]:
        key, path = write(*args, **options)
        sources.append(Path(path))
        return key, path

    with mock.patch.object(codecache, "write", noting):
        bool(isa)
    return {file for source in sources for file in source.parent.glob(f"{source.stem}.*")}


@contextmanager
def timed() -> Iterator[None]:
    """Within the block PyTorch's times have an event for each set that is tried. They have one for
    its compile alone, not for the Python that loads the file, and that up to 2.12 imports PyTorch.
    """
    from torch._dynamo.utils import dynamo_timed
    from torch._inductor.cpu_vec_isa import VecISA

    check = VecISA.check_build

    @functools.wraps(check)
    def within_an_event(self: Any, code: str) -> bool:
        with dynamo_timed(names.VECTOR_ISA):
            return check(self, code)

    with mock.patch.object(VecISA, "check_build", within_an_event):
        yield
