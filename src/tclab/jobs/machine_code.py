"""Compile kernels of a job down to instructions, each with the configuration that a profile of the
job names. A child process with limits on memory and time compiles the kernels; it loads only code
that Inductor writes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tclab import targets
from tclab.capturing.trace.events import Trace
from tclab.errors import BadRequest
from tclab.jobs import child as child_process
from tclab.jobs.graphs import ReadGraph, read_gpu
from tclab.model import UNREADABLE, Chain, Config, decode

_CHILD = "tclab.capturing.target.foreign_kernels"
#: Seconds for PyTorch to start, and for each kernel.
_START_SECONDS, _KERNEL_SECONDS = 120, 60
#: The most kernels to compile for one page.
_MOST_KERNELS = 20
# 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9
# @triton_heuristics.template(
#
# num_stages=4,
# num_warps=8,
_TEMPLATE = re.compile(
    r"^@triton_heuristics\.template\(\s+num_stages=(?P<stages>\d{1,9}),\s+num_warps=(?P<warps>\d{1,9}),",
    re.MULTILINE,
)
_CAPABILITY = re.compile(r"DeviceProperties\(type='cuda',[^)]*?\bcc=(\d+)")


@dataclass(frozen=True)
class KernelSource:
    """The source of a Triton kernel in the output code of a job. `file` is the name of the kernel's
    file, by which a profile names it; `device` is the GPU for which it was compiled, or ''.
    """

    name: str
    source: str
    file: str
    device: str


def read_sources(trace: Trace, graphs: Sequence[ReadGraph]) -> Iterator[KernelSource]:
    """Yield the source of each Triton kernel of a process."""
    devices = (read_gpu(event.payload) for event in trace.select("fx_graph_runnable"))
    device = next(filter(None, devices), "")
    for read in {id(each.unit): each for each in graphs}.values():
        sources = read.unit.output.triton_sources()
        for file, name in read.graph.files.items():
            if name in sources:
                yield KernelSource(name, sources[name], file, device)


def compile_launched(
    wanted: Sequence[str],
    sources: Sequence[KernelSource],
    launched: Mapping[str, Config],
) -> tuple[list[Chain], list[str]]:
    """Return the stages of each kernel that has one of the `wanted` texts in its name, and remarks
    on those that are not compiled. `launched` maps the name of a kernel's file to its configuration
    in a profile; a template's configuration is in its source. Raises BadRequest if there is no such
    kernel, or if Triton is not installed.
    """
    launched = {**_read_template_configurations(sources), **launched}
    named = [each for each in sources if any(text in each.name for text in wanted)]
    found = list({each.file: each for each in named if each.file in launched}.values())
    if not found:
        raise _nothing_to_compile(wanted, sources, named)
    child_process.require_compiler("--stages", "--stages")
    chains, remarks = [], []
    for answer in _ask([_question(each, launched[each.file]) for each in found[:_MOST_KERNELS]]):
        try:
            chains.append(_read_chain(answer["chain"]))
        except KeyError:
            remarks.append(f"{answer.get('place')}: {answer.get('cause')}")
    if (number := len(found) - _MOST_KERNELS) > 0:
        remarks.append(f"--stages: {number} kernels after the first {_MOST_KERNELS} are left out")
    return chains, remarks


def _read_template_configurations(sources: Sequence[KernelSource]) -> dict[str, Config]:
    """Map the file of each kernel that was made from a template to its configuration."""
    found = ((each.file, _TEMPLATE.search(each.source)) for each in sources)
    return {file: Config((), int(m["warps"]), int(m["stages"])) for file, m in found if m}


def _read_chain(data: Any) -> Chain:
    """Return the chain that the child wrote. Raises TypeError for anything else."""
    chain = decode(data)
    if not isinstance(chain, Chain):
        raise TypeError("the child wrote no chain")
    return chain


def _nothing_to_compile(
    wanted: Sequence[str], sources: Sequence[KernelSource], named: Sequence[KernelSource]
) -> BadRequest:
    place = f"--stages {', '.join(wanted)}"
    if not sources:
        cause, step = "the traces have no Triton kernel", "open the trace of a job on a GPU"
    elif not named:
        cause, step = "no Triton kernel of the job has this in its name", "see the page's kernels"
    else:
        cause = f"no profile beside the trace says how {named[0].name} was launched"
        step = "open a profile of the same run, exported with record_shapes=True, beside the trace"
    return BadRequest(place, cause, step)


def _question(kernel: KernelSource, config: Config) -> dict[str, object]:
    target = targets.find_by_device(kernel.device)
    capability = _CAPABILITY.search(kernel.source)
    by_capability = f"sm_{capability[1]}" if capability else ""
    return {
        "name": kernel.name,
        "source": kernel.source,
        "constants": dict(config.constants),
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "target": target.name if target else by_capability,
    }


def _ask(kernels: Sequence[Mapping[str, object]]) -> Iterator[Mapping[str, Any]]:
    """Yield the child's answer for each kernel. A kernel without an answer took too long, or ended
    the child.
    """
    seconds = _START_SECONDS + _KERNEL_SECONDS * len(kernels)
    with tempfile.TemporaryDirectory(prefix="tclab-") as folder:
        output = _run_child(folder, json.dumps(kernels).encode(), seconds)
    answers = output.decode("utf-8", "replace").splitlines()
    for kernel, answer in zip(kernels, [*answers, *[""] * len(kernels)]):
        try:
            yield json.loads(answer)
        except UNREADABLE:
            yield {"place": f"kernel {kernel['name']}", "cause": "its compile did not end"}


def _run_child(folder: str, questions: bytes, seconds: float) -> bytes:
    """Return what the child answers within `seconds`. The child and each process that it started
    are killed then.
    """
    work, variables = child_process.make_folders(folder)
    with subprocess.Popen(
        [sys.executable, "-m", _CHILD], cwd=work, env={**os.environ, **variables},
        start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        try:
            return child.communicate(questions, timeout=seconds)[0]
        except subprocess.TimeoutExpired as error:
            return error.stdout or b""
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
