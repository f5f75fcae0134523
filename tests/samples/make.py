"""Write samples of what PyTorch, Triton and binutils print, with the PyTorch that runs this.

    PYTHONPATH=src python -m tests.samples.make

compiles the functions of functions.py for the CPU and, without needing one, for an H200, and
writes tests/samples/torch-<major>.<minor>/ anew. The tests read every such folder, so nothing
here reads: text is kept as it was printed, but for places and numbers of this machine, which
`tclab.text.scrub` takes out. Needs Linux, g++, objdump, and the Triton that goes with the PyTorch.
"""

from __future__ import annotations

import json
import linecache
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from tests.samples import decisions
from tests.samples.hear import Heard, chrome, keep
from tests.samples.log import FILE, SAMPLES

#: Compiled files get this place, since their PTX holds it byte by byte.
CACHE = "/tmp/torchinductor_reader"
TARGET = "h200"

FRAMES = ("dynamo_start", "compilation_metrics")
GRAPHS = ("dynamo_output_graph", "aot_joint_graph", "aot_forward_graph", "aot_inference_graph",
          "aot_backward_graph", "inductor_post_grad_graph")  # fmt: skip
OUTPUT = ("inductor_output_code", "kernel_nodes")
INDUCTOR = ("ir_pre_fusion", "ir_post_fusion", "fusion", "links_ir", "links_kernel")


def main() -> None:
    """Replace the folder of this PyTorch, once all of it is written."""
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TRITON_CACHE_DIR"] = temporary
        new = Path(temporary) / "samples"
        new.mkdir()
        folder = SAMPLES / f"torch-{make(new)}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(new, folder)


def make(folder: Path) -> str:
    """Write all samples into `folder`; the PyTorch they are of, as major and minor version."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = CACHE
    shutil.rmtree(CACHE, ignore_errors=True)
    import torch

    torch.manual_seed(0)
    logging.getLogger("torch").setLevel(logging.ERROR)
    heard = Heard()
    with heard.listening():
        on_cpu(folder, heard)
        in_dynamo(folder, heard)
        on_target(folder, heard)
        save(folder / "decisions.json", decisions.sampled(functions()))
    save(folder / "unscrubbed.txt", "".join(heard.unscrubbed()))
    save(folder / "made_by.json", json.dumps(stamp(heard), indent=2) + "\n")
    return ".".join(torch.__version__.split(".")[:2])


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


# ------------------------------------------------------------------------------ what is compiled


def functions() -> SimpleNamespace:
    """The functions of functions.py, as if it stood at `FILE`."""
    text = (SAMPLES / "functions.py").read_text(encoding="utf-8")
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    module: dict[str, Any] = {"__name__": "functions", "__file__": FILE}
    exec(compile(text, FILE, "exec"), module)
    return SimpleNamespace(**module)


def on_cpu(folder: Path, heard: Heard) -> None:
    """A training step; a kernel down to instructions; output code that is C++."""
    import torch

    import tclab

    fn = functions()
    training = tclab.capture(fn.total, backward=True)(torch.randn(8, requires_grad=True))
    records = heard.take(training)
    keep(folder / "training.log", records, (*FRAMES, *GRAPHS, "after_pre_grad_graph", *OUTPUT))
    save(folder / "times.txt", "".join(chrome(records)))
    in_cpp = tclab.capture(fn.total, options={"cpp_wrapper": True})(torch.randn(8))
    keep(folder / "cpp_wrapper.log", heard.take(in_cpp), ("inductor_output_code",))
    with listings() as said:
        exponential = tclab.capture(fn.exponential)(torch.randn(16))
        assert exponential.chains()
    heard.take(exponential)
    save(folder / "exponential.objdump", "".join(said))


def in_dynamo(folder: Path, heard: Heard) -> None:
    """Graph breaks, a frame that is given up, a recompile."""
    import torch

    import tclab

    fn = functions()
    with tclab.capture() as broken:
        for function in (fn.calls, fn.prints_in_a_loop):
            torch.compile(function, backend="eager")(torch.ones(3))
    reasons = (*FRAMES, "dynamo_output_graph", "dynamo_graph_break_reason")
    keep(folder / "breaks.log", heard.take(broken), reasons)
    fn = functions()  # with code that was not compiled yet
    with tclab.capture() as named:
        torch.compile(fn.prints, backend="eager")(torch.ones(3))
        torch.compile(fn.keeps_its_class, backend="eager")(torch.ones(3).as_subclass(fn.Marked))
    keep(folder / "named.log", heard.take(named), ("bytecode",))
    sizes = [(torch.ones(n, 4), 2) for n in (8, 16)]
    resized = tclab.capture(fn.Scaled(), backend="eager").over(sizes)
    why = ("dynamo_output_graph", "dynamo_cpp_guards_str", "recompile_reasons", "create_symbol")
    keep(folder / "recompile.log", heard.take(resized), (*FRAMES, *why))


def on_target(folder: Path, heard: Heard) -> None:
    """For a GPU: a library call and a reduction, groups that do not fuse, an assert."""
    import torch

    import tclab
    from tclab.capturing.machine_code import triton

    fn = functions()
    product = tclab.capture(fn.product, target=TARGET)(torch.randn(64, 16), torch.randn(16, 64))
    keep(folder / "product.log", heard.take(product), (*FRAMES, *GRAPHS, *OUTPUT, *INDUCTOR))
    for name, text in machine_code(product).items():
        save(folder / f"product.{name}", text)
    both = tclab.capture(fn.both_ways, target=TARGET)(torch.randn(2, 4096))
    keep(folder / "both_ways.log", heard.take(both), ("fusion",))
    save(folder / "looped.ttir", machine_code(both, "triton_red_")["ttir"])
    rows = tclab.capture(fn.rows, target=TARGET)(torch.randn(8, 8), torch.tensor([1, 2]))
    heard.take(rows)
    save(folder / "rows.ptx", machine_code(rows)["ptx"])
    save(folder / "nvdisasm.help", triton._read_help())
    subprocess.run([sys.executable, "-m", "tests.samples.amd", folder], check=True)


# ------------------------------------------------------------------------------ machine code


@contextmanager
def listings() -> Iterator[list[str]]:
    """What objdump says, before it is read, below the kernel's place in its file: the lines
    before it, and its own.
    """
    from tclab.capturing.machine_code import cpp
    from tclab.text.scrub import scrub

    said: list[str] = []
    read = cpp._parse_listing

    def reading(listing: str, offset: int, count: int) -> Any:
        said.append(f"{offset} {count}\n{scrub(_shortened(listing))}")
        return read(listing, offset, count)

    with mock.patch.object(cpp, "_parse_listing", reading):
        yield said


def _shortened(listing: str) -> str:
    """The head, the kernel, and how the function after it begins."""
    blocks = re.split(r"\n(?=[0-9a-f]{16} <)", listing)
    at = next(i for i, block in enumerate(blocks) if " <kernel>:" in block)
    after = "".join(blocks[at + 1].splitlines(keepends=True)[:12])
    return "\n".join([blocks[0], blocks[at], after])


def machine_code(capture: Any, kind: str = "triton_") -> dict[str, str]:
    """What Triton makes of a capture's one kernel that is called like `kind`, and what NVIDIA's
    tools say of the binary.
    """
    from tclab.capturing.machine_code import triton
    from tclab.text.scrub import scrub

    binary = _compiled(capture, kind)
    cubin = binary.asm["cubin"]
    texts = {stage: binary.asm[stage] for stage in ("ttir", "ttgir", "llir", "ptx")}
    texts["ptx"] = _without_debug(texts["ptx"])
    texts["sass"] = triton._run_tool("nvdisasm", "-g", "-gp", "-c", cubin=cubin)
    texts["usage"] = triton._run_tool("cuobjdump", "--dump-resource-usage", cubin=cubin)
    return {name: scrub(text) for name, text in texts.items()}


def _without_debug(ptx: str) -> str:
    """PTX up to the first lines of its debug sections, which are bytes only."""
    text, section, rest = ptx.partition("\t.section\t.debug_")
    return text + section + "".join(rest.splitlines(keepends=True)[:12])


def _compiled(capture: Any, kind: str) -> Any:
    from torch._inductor.codecache import PyCodeCache

    from tclab.capturing.target import stand_in
    from tclab.capturing.torch_private import autotuners

    kernels = capture.units[0].output.triton_sources()
    ((name, source),) = [item for item in kernels.items() if item[0].startswith(kind)]
    short = mock.patch.object(PyCodeCache, "write", _write)
    with stand_in.fake_gpu(capture.target), short:
        autotuner = autotuners.build_autotuner(name, source)
        return autotuners.compile_config(autotuner, autotuner.configs[0])


def _write(source: str) -> tuple[str, str]:
    """Put a kernel's source into a file as Inductor does, under a shorter name."""
    file = Path(CACHE) / "kernel.py"
    save(file, source)
    return "kernel", str(file)


# ------------------------------------------------------------------------------ who made them


def stamp(heard: Heard) -> dict[str, Any]:
    """Who made the samples, and all that the trace spoke of meanwhile."""
    import torch
    import triton

    return {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "vector_instructions": str(torch._inductor.cpu_vec_isa.pick_vec_isa()),
        "compiler": _version("g++"),
        "objdump": _version("objdump"),
        "events": list(heard.names),
    }


def _version(tool: str) -> str:
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


if __name__ == "__main__":
    main()
