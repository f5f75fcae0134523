"""The sets of vector instructions that Inductor may try on this CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch._inductor.cpu_vec_isa", "supported_vec_isa_list", "what Inductor may try"),
    Private("torch._inductor", "codecache", "compiles the file that tries one"),
    Private("torch._inductor.cpu_vec_isa", "x86_isa_checker", "what the CPU has"),
    Private("torch._inductor.codecache", "write", "says where that file lies"),
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
