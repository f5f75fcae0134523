"""Work that PyTorch does once in a process or on a machine, done while something else is awaited.

Before its first C++ kernel Inductor compiles and loads a small file for each set of vector
instructions that the CPU has, one after the other. Here they are tried side by side while the rest
of PyTorch is imported and before the capture begins, so that a report's times are the function's.
"""

from __future__ import annotations

import atexit
import gc
import importlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tclab.system import machine


def import_compiler(*, cpu: bool) -> None:
    """Import what a compile needs; with `cpu`, try the CPU's vector instructions meanwhile.

    What PyTorch reads of the environment at its imports is read now, so the user's own file comes
    first. PyTorch keeps each answer; one that fails here Inductor asks for again.
    """
    with ThreadPoolExecutor() as beside:
        importlib.import_module("torch._inductor.codecache")
        if cpu and machine.has_cxx() and not machine.has_cuda():
            from tclab.capturing.torch_private import vector_isa

            for isa in vector_isa.cpu_isas():
                beside.submit(bool, isa)
        importlib.import_module("torch._inductor.compile_fx")
        importlib.import_module("tclab.capturing")


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Imports and compiles make hundreds of thousands of objects and little garbage: looking for
    it costs a tenth of their time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def exit_quickly() -> None:
    """When the process ends, let its memory go as it is: freeing PyTorch object by object takes
    a second.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
