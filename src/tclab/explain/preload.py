"""Do work that PyTorch does once per process or machine while the user's own imports run.

Before its first C++ kernel Inductor compiles and loads a small file for each set of vector
instructions that the CPU has, one after the other. This module has the files compiled in parallel,
while the rest of PyTorch is imported and before the capture begins, so that a report's times belong
to the function.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tclab.errors import ExplainError
from tclab.system import machine
from tclab.text.scrub import scrub


def import_compiler(*, cpu: bool) -> None:
    """Import the modules that a compile needs; with `cpu`, test the CPU's vector instructions
    meanwhile.

    PyTorch reads environment variables when it is imported, so the user's own file must be imported
    first. PyTorch caches each test's answer; Inductor repeats a test that fails here. Raises
    ExplainError if the compiler cannot be imported.
    """
    with ThreadPoolExecutor() as beside:
        try:
            importlib.import_module("torch._inductor.codecache")
            if cpu and machine.has_cxx() and not machine.has_cuda():
                from tclab.capturing.torch_private import vector_isa

                for isa in vector_isa.cpu_isas():
                    beside.submit(bool, isa)
            importlib.import_module("torch._inductor.compile_fx")
        except Exception as error:
            raise _explain_import(error) from error
        importlib.import_module("tclab.capturing")


def _explain_import(error: Exception) -> ExplainError:
    what = "".join(traceback.format_exception_only(error)).strip()
    step = "python -c 'import torch._inductor.compile_fx' has to work"
    if isinstance(error, UnicodeError):  # PyTorch reads its own files in the locale's encoding
        step = "unset PYTHONUTF8 and PYTHONCOERCECLOCALE, or set LC_ALL=C.UTF-8"
    return ExplainError("PyTorch", f"its compiler cannot be imported: {scrub(what)}", step)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Run the garbage collector rarely during the block. Imports and compiles make hundreds of
    thousands of objects but little garbage, and collecting takes a tenth of their time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def exit_quickly() -> None:
    """Make the process exit without freeing PyTorch's objects one by one, which takes a second."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
