"""Write samples of what PyTorch, Triton and binutils print, with the PyTorch that runs this.

    PYTHONPATH=src python -m tests.samples.make

compiles the functions of functions.py for the CPU and, without needing one, for an H200, and
writes tests/samples/torch-<major>.<minor>/ anew. The tests read every such folder, so nothing
here reads: text is kept as it was printed, but for places and numbers of this machine, which
`tclab.scrub` takes out. Needs Linux, g++, objdump, and the Triton that goes with the PyTorch.
"""

from __future__ import annotations

import copy
import dis
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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any
from unittest import mock

from .log import SAMPLES, Record, write

#: Where the functions seem to stand: a place that is nobody's, and shares no folder with PyTorch.
FILE = "/reader/functions.py"
#: Compiled files get this place, since their PTX holds it byte by byte.
CACHE = "/tmp/torchinductor_reader"
TARGET = "h200"

FRAMES = ("dynamo_start", "compilation_metrics")
GRAPHS = ("dynamo_output_graph", "aot_joint_graph", "aot_forward_graph",
          "aot_inference_graph", "aot_backward_graph", "inductor_post_grad_graph")  # fmt: skip
INDUCTOR = ("ir_pre_fusion", "ir_post_fusion", "fusion", "kernel_nodes", "links_ir",
            "links_kernel", "inductor_output_code")  # fmt: skip

#: Of the metrics, which are hundreds, what is read.
METRICS = ("co_name", "fail_type", "fail_reason")


def main() -> None:
    """Write the folder of this PyTorch."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = CACHE
    shutil.rmtree(CACHE, ignore_errors=True)
    import torch

    torch.manual_seed(0)
    logging.getLogger("torch").setLevel(logging.ERROR)
    folder = SAMPLES / f"torch-{'.'.join(torch.__version__.split('.')[:2])}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    raw = Raw()
    with raw.heard():
        on_cpu(folder, raw)
        in_dynamo(folder, raw)
        on_target(folder, raw)
    (folder / "unscrubbed.txt").write_text("".join(raw.noise()), encoding="utf-8")
    made_by = json.dumps(stamp(raw), indent=2)
    (folder / "made_by.json").write_text(made_by + "\n", encoding="utf-8")


# ------------------------------------------------------------------------------ what is compiled


def on_cpu(folder: Path, raw: Raw) -> None:
    """A training step, and C++ kernels down to instructions."""
    import torch

    import tclab

    fn = functions()
    x = torch.randn(8, requires_grad=True)
    training = tclab.capture(fn.total, backward=True)(x)
    records = raw.take(training)
    wanted = (*FRAMES, *GRAPHS, "after_pre_grad_graph", "inductor_output_code", "kernel_nodes")
    keep(folder / "training.log", records, wanted)
    (folder / "times.txt").write_text("".join(times(records)), encoding="utf-8")
    with listings() as said:
        exponential = tclab.capture(fn.exponential)(torch.randn(16))
        assert exponential.chains
    (folder / "exponential.objdump").write_text("".join(said), encoding="utf-8")
    raw.records.clear()
    in_cpp = tclab.capture(fn.total, options={"cpp_wrapper": True})(torch.randn(8))
    keep(folder / "cpp_wrapper.log", raw.take(in_cpp), ("inductor_output_code",))


def in_dynamo(folder: Path, raw: Raw) -> None:
    """Graph breaks, a frame that is given up, a recompile."""
    import torch

    import tclab

    fn = functions()
    with tclab.capture() as broken:
        for function in (fn.calls, fn.prints_in_a_loop):
            torch.compile(function, backend="eager")(torch.ones(3))
    records = raw.take(broken)
    wanted = (*FRAMES, "dynamo_output_graph", "dynamo_graph_break_reason")
    keep(folder / "breaks.log", records, wanted)
    resumed = tclab.capture(fn.prints, backend="eager")(torch.ones(3))
    first = [record for record in raw.take(resumed) if record[0] == "bytecode"][:2]
    keep(folder / "resumed.log", first, ("bytecode",))
    sizes = [(torch.ones(n, 4), 2) for n in (8, 16)]
    resized = tclab.capture(fn.scaled, backend="eager").over(sizes)
    wanted = (*FRAMES, "dynamo_output_graph", "dynamo_cpp_guards_str", "recompile_reasons",
              "create_symbol")  # fmt: skip
    keep(folder / "recompile.log", raw.take(resized), wanted)


def on_target(folder: Path, raw: Raw) -> None:
    """A library call and a reduction, and a kernel that asserts, for a GPU."""
    import torch

    import tclab

    fn = functions()
    product = tclab.capture(fn.product, target=TARGET)(torch.randn(64, 16), torch.randn(16, 64))
    keep(folder / "product.log", raw.take(product), (*FRAMES, *GRAPHS, *INDUCTOR))
    for name, text in machine_code(product):
        (folder / f"product.{name}").write_text(text, encoding="utf-8")
    both = tclab.capture(fn.both_ways, target=TARGET)(torch.randn(8, 8))
    keep(folder / "both_ways.log", raw.take(both), ("fusion",))
    rows = tclab.capture(fn.rows, target=TARGET)(torch.randn(8, 8), torch.tensor([1, 2]))
    texts = dict(machine_code(rows))
    (folder / "rows.ptx").write_text(texts["ptx"], encoding="utf-8")


def functions() -> SimpleNamespace:
    """The functions of functions.py, as if it stood at `FILE`."""
    text = (SAMPLES / "functions.py").read_text(encoding="utf-8")
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    module: dict[str, Any] = {"__name__": "functions", "__file__": FILE}
    exec(compile(text, FILE, "exec"), module)
    return SimpleNamespace(**module)


# ------------------------------------------------------------------------------ what is kept


class Raw(logging.Handler):
    """The structured trace's records as PyTorch made them."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[Record] = []
        self.texts: list[str] = []
        self.names: dict[str, None] = {}

    @contextmanager
    def heard(self) -> Iterator[None]:
        from torch._logging._internal import trace_log

        trace_log.handlers.insert(0, self)
        try:
            yield
        finally:
            trace_log.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        meta, payload = getattr(record, "metadata", {}), getattr(record, "payload", None) or ""
        self.records.append(Record(meta, payload))
        self.texts.append(payload)

    def take(self, capture: Any) -> Named:
        """All that a capture heard since the last one, by name."""
        records, self.records = self.records, []
        found = list(of_capture(capture, records))
        self.names |= dict.fromkeys(name for name, _ in found)
        return found

    def noise(self) -> Iterator[str]:
        """Lines in which `scrub` changes more than places: one for each thing it changes."""
        from tclab.scrub import scrub

        seen = set()
        for line in (line for text in self.texts for line in text.splitlines()):
            clean = scrub(line)
            if clean != line and "/" not in line.replace("0/0", "") and clean not in seen:
                seen.add(clean)
                yield line.strip() + "\n"


Named = list[tuple[str, Record]]


def keep(path: Path, records: Named, wanted: Iterable[str]) -> None:
    """Write those records that are called as in `wanted`, in order."""
    some = [cleaned(record) for name, record in records if name in wanted]
    write(path, [*interned(some), *some])


def of_capture(capture: Any, records: list[Record]) -> Iterator[tuple[str, Record]]:
    """Everything a capture heard, by name: PyTorch's records, and what tclab noted itself."""
    from tclab.stages import _torch

    structured = iter(records)
    numbers = {own: number for number, own in capture.trace.frames.items()}
    for event in capture.trace.events:
        frame, _, compile_ = event.compile_id.partition("/")
        ids = {"frame_id": numbers[int(frame)], "frame_compile_id": int(compile_)} if frame else {}
        if event.name in _torch.LOGS:
            yield event.name, Record({"log": event.name, **ids}, event.payload)
        elif event.name in NOTES:
            for payload in NOTES[event.name](event.data):
                yield event.name, Record({"noted": event.name, **ids}, payload)
        elif not event.name.startswith("links_"):
            yield event.name, next(structured)


def _bytecode(codes: tuple[CodeType, CodeType]) -> Iterator[str]:
    yield from (dis.Bytecode(code).dis() for code in codes)


def _kernel(note: Any) -> Iterator[str]:
    writers = list(dict.fromkeys(x.writer for x in note.lines))
    lines = [[x.text, x.marks, x.body, writers.index(x.writer), x.again] for x in note.lines]
    yield "\n".join([json.dumps(note.name), *map(json.dumps, lines)])


NOTES = {
    "bytecode": _bytecode,
    "kernel_nodes": lambda nodes: [json.dumps(nodes)],
    "links_ir": lambda note: [json.dumps(asdict(note))],
    "links_kernel": _kernel,
}


def times(records: Named) -> Iterator[str]:
    """The events of Chrome's trace but those of single passes, an event a line."""
    for event in (json.loads(r.payload) for name, r in records if name == "chromium_event"):
        if not event["name"].startswith("pass."):
            yield "{ph} {ts} {pid} {tid} {name}\n".format_map(event)


def interned(records: list[Record]) -> Iterator[Record]:
    """The file names that these records name by number, as PyTorch says them once a process."""
    from torch._logging.structured import INTERN_TABLE

    from tclab.scrub import scrub

    stacks = [frame for record in records for stack in _stacks(record.meta) for frame in stack]
    wanted = {frame["filename"] for frame in stacks}
    for name, number in INTERN_TABLE.items():
        if number in wanted:
            yield Record({"str": [scrub(name), number]})


def _stacks(meta: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for value in meta.values():
        if isinstance(value, dict):
            yield from (value[key] for key in ("stack", "user_stack") if value.get(key))


def cleaned(record: Record) -> Record:
    """A record without places, without what stands above our functions on the stack, and of a
    large one what is read.
    """
    from torch._logging.structured import INTERN_TABLE

    from tclab.scrub import scrub, scrub_data

    meta = copy.deepcopy(record.meta)
    for stack in _stacks(meta):
        stack[:] = [frame for frame in stack if frame["filename"] == INTERN_TABLE.get(FILE)]
    if metrics := meta.get("compilation_metrics"):
        meta["compilation_metrics"] = {key: metrics[key] for key in METRICS if key in metrics}
    return Record(scrub_data(meta), scrub(_shortened(record.payload)))


def _shortened(payload: str) -> str:
    """A reason without PyTorch's own stack, which is cut off before it is read."""
    text, own, rest = payload.partition("\nTraceback (most recent call last):\n")
    return text + own + "".join(rest.splitlines(keepends=True)[:2])


# ------------------------------------------------------------------------------ machine code


@contextmanager
def listings() -> Iterator[list[str]]:
    """What objdump says, before it is read."""
    from tclab.scrub import scrub
    from tclab.stages import cpp_machine

    said: list[str] = []
    read = cpp_machine._read

    def reading(listing: str, offset: int, count: int) -> Any:
        said.append(f"{offset} {count}\n{scrub(_functions(listing))}")
        return read(listing, offset, count)

    with mock.patch.object(cpp_machine, "_read", reading):
        yield said


def _functions(listing: str) -> str:
    """The head, the kernel, and how the function after it begins."""
    blocks = re.split(r"\n(?=[0-9a-f]{16} <)", listing)
    at = next(i for i, block in enumerate(blocks) if " <kernel>:" in block)
    after = "".join(blocks[at + 1].splitlines(keepends=True)[:12])
    return "\n".join([blocks[0], blocks[at], after])


def machine_code(capture: Any) -> Iterator[tuple[str, str]]:
    """What Triton makes of a capture's one kernel, and what NVIDIA's tools say of the binary. Of
    the PTX's debug sections, the beginning.
    """
    from torch._inductor.codecache import PyCodeCache

    from tclab.scrub import scrub
    from tclab.stages import _torch_target, _triton, triton_kernels

    ((name, source),) = triton_kernels.sources(capture.wrapper_code[0])
    short = mock.patch.object(PyCodeCache, "write", _write)
    with _torch_target.standing_in(capture.target), short:
        autotuner = _triton.build(name, source)
        binary = _triton.compile_config(autotuner, autotuner.configs[0])
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        text, debug, rest = binary.asm[stage].partition("\t.section\t.debug_")
        yield stage, scrub(text + debug + "".join(rest.splitlines(keepends=True)[:12]))
    cubin = binary.asm["cubin"]
    yield "sass", scrub(triton_kernels._tool("nvdisasm", "-g", "-gp", "-c", cubin=cubin))
    yield "usage", triton_kernels._tool("cuobjdump", "--dump-resource-usage", cubin=cubin)


def _write(source: str) -> tuple[str, str]:
    """Put a kernel's source into a file, as Inductor does, with a shorter name."""
    file = Path(CACHE) / "kernel.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(source.strip(), encoding="utf-8")
    return "kernel", str(file)


def stamp(raw: Raw) -> dict[str, Any]:
    """Who made the samples, and all that the trace spoke of meanwhile."""
    import torch
    import triton

    def version(tool: str) -> str:
        said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.splitlines()[0]

    return {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "vector_instructions": str(torch._inductor.cpu_vec_isa.pick_vec_isa()),
        "compiler": version("g++"),
        "objdump": version("objdump"),
        "events": list(raw.names),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TRITON_CACHE_DIR"] = temporary
        sys.exit(main())
