"""The sets of vector instructions that Inductor may try on this CPU."""

from __future__ import annotations

from typing import Any

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch._inductor.cpu_vec_isa", "supported_vec_isa_list", "what Inductor may try"),
    Private("torch._inductor", "codecache", "compiles the file that tries one"),
    Private("torch._inductor.cpu_vec_isa", "x86_isa_checker", "what the CPU has"),
)


def candidates() -> list[Any]:
    """Those the CPU has. Whether one is used, its ``bool`` says: a file is compiled and loaded."""
    from torch._inductor import codecache, cpu_vec_isa  # noqa: F401 - codecache: for that file

    has = set(cpu_vec_isa.x86_isa_checker())
    return [isa for isa in cpu_vec_isa.supported_vec_isa_list if has.issuperset(str(isa).split())]
