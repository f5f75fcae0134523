"""What PyTorch decides on Windows and on a Mac, asked of its own functions while they think so.

No line of it ran on either system: a process is told that it is there, and asks what would be
used. Nothing is compiled.
"""

import multiprocessing
import os
import platform
import sys

import torch._inductor.cpp_builder as builder
import torch._inductor.cpu_vec_isa as instructions
from torch._inductor.codegen.common import get_scheduling_for_device, init_backend_registration
from torch._inductor.config import decide_compile_threads

import tclab

SYSTEMS = {
    "Linux": ("linux", "x86_64"),
    "Windows": ("win32", "AMD64"),
    "a Mac of today": ("darwin", "arm64"),
    "a Mac with Intel": ("darwin", "x86_64"),
}


def first_words(ask):
    try:
        return str(ask())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"[:60]


def asked(sender, name, machine):
    os.environ.pop("TORCHINDUCTOR_COMPILE_THREADS", None)
    os.environ.pop("CXX", None)
    sys.platform = name
    platform.machine = lambda: machine
    platform.processor = lambda: "arm" if machine == "arm64" else "i386"
    builder._IS_WINDOWS = instructions._IS_WINDOWS = name == "win32"
    builder._IS_MACOS = name == "darwin"
    vectors = None  # elsewhere the answer is from compiling a test
    if name == "darwin":
        found = instructions.valid_vec_isa_list.__wrapped__()
        vectors = ", ".join(type(isa).__name__ for isa in found) or "none"
    workers = decide_compile_threads()
    # of a Mac it was decided at the import, which this process did on Linux
    compiler = None if name == "darwin" else first_words(builder.get_cpp_compiler)
    sender.send((workers, compiler, vectors))


def on(name, machine):
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=asked, args=(sender, name, machine))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    return result


found = {system: on(*words) for system, words in SYSTEMS.items()}
init_backend_registration()
metal = get_scheduling_for_device("mps").__name__
tclab.show(
    tclab.Table(
        title="What would be used",
        name="systems",
        columns=("on", "compile workers", "C++ compiler", "vector instructions"),
        rows=[(system, *row) for system, row in found.items()],
        caption="Asked on a machine that runs Linux, which has its own processor.",
    )
)
tclab.show(metal, title="What writes kernels for a Mac's GPU, the device mps", name="metal")
linux, windows, mac, intel = found.values()

# claim: on-windows-one-worker
assert windows[0] == 1 and linux[0] == mac[0] >= 1
# claim: on-windows-the-compiler-is-cl
assert "cl is not found" in windows[1] and "cl is not found" not in linux[1]
# claim: a-mac-of-today-has-neon
assert mac[2] == "VecNEON"
# claim: one-with-intel-has-none
assert intel[2] == "none"
# claim: metal-has-a-writer-of-its-own
assert metal == "MetalScheduling"
