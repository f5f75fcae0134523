"""No C compiler: Triton cannot build the module that loads and launches kernels.

On an NVIDIA GPU Triton compiles C on the machine, besides its kernels. It takes the compiler
that `CC` names, else `gcc` or `clang`. Here it builds an empty module with the same function.
"""
# tclab: needs=cxx,triton

import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from triton.runtime.build import compile_module_from_src

import tclab

EMPTY = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "empty"};
PyMODINIT_FUNC PyInit_empty(void) { return PyModule_Create(&module); }
"""
CC = shutil.which(os.environ.get("CC") or "gcc") or shutil.which("clang")


def built(compilers, **variables):
    """What Triton says where only these commands, an assembler and a linker are found."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
        for name in ("as", "ld", *compilers):
            Path(folder, name).symlink_to(CC if name in compilers else shutil.which(name))
        os.environ.pop("CC", None)
        os.environ |= {"PATH": folder, "TRITON_CACHE_DIR": f"{folder}/cache"} | variables
        try:
            return f"built: {compile_module_from_src(EMPTY, 'empty').__name__}"
        except RuntimeError as error:
            return str(error)


rows = {
    "none": built([]),
    "none, and CC names one": built([], CC=CC),
    "gcc": built(["gcc"]),
    "clang": built(["clang"]),
}
columns = ("compiler", "what Triton says")
tclab.show(tclab.Table("Triton builds a module", "built", columns, tuple(rows.items())))

# claim: without-one-it-is-an-error
assert rows["none"].startswith("Failed to find C compiler. Please specify via CC environment")
# claim: cc-gcc-or-clang-mends-it
assert {said for name, said in rows.items() if name != "none"} == {"built: empty"}
