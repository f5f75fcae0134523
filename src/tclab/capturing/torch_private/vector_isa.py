"""The sets of vector instructions that Inductor may try on this CPU."""

from __future__ import annotations

from typing import Any

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch._inductor.cpu_vec_isa", "supported_vec_isa_list", "what Inductor may try"),
    Private("torch._inductor.cpu_vec_isa", "x86_isa_checker", "what the CPU has"),
)


def candidates() -> list[Any]:
    """Those the CPU has; the truth of one is whether a file for it compiles and loads."""
    from torch._inductor import cpu_vec_isa

    has = set(cpu_vec_isa.x86_isa_checker())
    return [isa for isa in cpu_vec_isa.supported_vec_isa_list if has.issuperset(str(isa).split())]
