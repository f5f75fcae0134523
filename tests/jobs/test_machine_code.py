"""A kernel of a job is compiled as a profile says that it was launched; nothing of a file runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tclab.capturing.machine_code.foreign import check_source
from tclab.cli.command import tclab
from tclab.errors import BadRequest, CaptureError
from tclab.jobs import inputs, machine_code, open_job
from tclab.jobs.profile import read_configurations
from tclab.model import Config, Job, Kernel
from tclab.render.job import page
from tests.jobs.test_inputs import LOG, RECORDS, in_frame, record
from tests.jobs.test_lines import LOWERED

NAME = "triton_poi_fused_relu_0"
SOURCE = """
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 1024},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': \
'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, \
major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32), \
'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'triton_poi_fused_relu_0', \
'mutated_arg_names': [], 'autotune_hints': set(), 'optimize_mem': True, 'no_x_dim': False},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = triton_helpers.maximum(tl.full([1], 0, tl.int32), tmp0)
    tmp2 = libdevice.rsqrt(tmp1.to(tl.float32))
    tl.store(out_ptr0 + (x0), tmp2, xmask)
"""
LOAD = "tl.load(in_ptr0 + (x0), xmask)"
#: What stands in the kernel's file → what a hostile file has there.
HOSTILE = {
    "a statement": (
        "triton_helpers.set_driver_to_gpu()",
        "__import__('os').system('touch {file}')",
    ),
    "another import": ("import triton\n", "import triton\nimport os\n"),
    "another module's name": ("import triton.language as tl", "import os as tl"),
    "a relative import": ("from torch._inductor.runtime import", "from .runtime import"),
    "a call in the heuristic": ("'XBLOCK': 'constexpr'", "'XBLOCK': open('{file}', 'w')"),
    "a call of a hint": ("cc=90", "cc=open('{file}', 'w')"),
    "unpacked settings": ("min_elem_per_thread=0", "**dict(min_elem_per_thread=0)"),
    "another heuristic": ("triton_heuristics.pointwise", "triton_heuristics.os.system"),
    "another decorator": ("@triton.jit", "@print\n@triton.jit"),
    "a default": ("XBLOCK : tl.constexpr", "XBLOCK : tl.constexpr = open('{file}', 'w')"),
    "an annotation": ("XBLOCK : tl.constexpr", "XBLOCK : open('{file}', 'w')"),
    "Python's import": (LOAD, "__import__('os')"),
    "Python's open": (LOAD, "open('{file}', 'w')"),
    "another module": (LOAD, "triton.runtime.os.system('touch {file}')"),
    "a module of a module": (LOAD, "tl.core.os.system('touch {file}')"),
    "a private name": (LOAD, "tl.__builtins__"),
    "text for the assembler": (LOAD, "tl.inline_asm_elementwise('', '', [], tl.int32, True, 1)"),
    "an attribute": (LOAD, "xmask.__class__"),
    "a method of a text": (LOAD, "'{file}'.format(xmask)"),
    "a module as a value": (LOAD, "tl"),
    "a call of a value": (LOAD, "xmask(1)"),
    "a name of Triton's replaced": ("x0 = xindex", "libdevice = xindex; x0 = xindex"),
    "a lambda": (LOAD, "(lambda: 1)"),
    "a formatted text": (LOAD, "f'{{xmask}}'"),
    "a comprehension": (LOAD, "[x for x in range(3)]"),
    "an inner import": ("    x0 = xindex", "    import os\n    x0 = xindex"),
    "an inner class": ("    x0 = xindex", "    class X: pass\n    x0 = xindex"),
    "no Python": ("x0 = xindex", "x0 = = xindex"),
    "a text in depth": (LOAD, "(" * 500 + "1" + ")" * 500),
}


def changed(name: str, file: Path | str) -> str:
    before, after = HOSTILE[name]
    assert SOURCE.count(before) >= 1, name
    return SOURCE.replace(before, after.replace("{{", "{").replace("}}", "}")
                          .replace("{file}", str(file)), 1)  # fmt: skip


def test_a_kernel_of_inductor_is_accepted() -> None:
    named = check_source(NAME, SOURCE)
    assert {("tl", "load"), ("triton_helpers", "maximum"), ("libdevice", "rsqrt")} <= {*named}
    helper = "@triton.jit\ndef add(a, b):\n    return a + b\n\n@triton_heuristics"
    reduced = SOURCE.replace("@triton_heuristics", helper).replace(LOAD, f"add({LOAD}, 1)")
    assert check_source(NAME, reduced)


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(CaptureError, match="not compiled, since"):
        check_source(NAME, changed(name, "x"))


def event(kwargs: str, warps: object = 4) -> dict[str, object]:
    args = {"kernel_file": "/tmp/torchinductor_reader/ab/cab.py", "kernel_kwargs": kwargs,
            "num_warps": warps, "num_stages": 2}  # fmt: skip
    return {"name": NAME, "cat": "cpu_op", "ts": 0.0, "dur": 1.0, "args": args}


def test_the_configuration_is_the_one_launched_most_often() -> None:
    twice, once = event("XBLOCK=256,R0_BLOCK=8"), event("XBLOCK=64")
    profile = inputs.Profile("p", [once, twice, twice, event("XBLOCK=1", "many"), {"args": {}}])
    config = Config((("XBLOCK", 256), ("R0_BLOCK", 8)), 4, 2)
    assert read_configurations(profile) == {"cab": config}


def written(folder: Path, *, source: str = SOURCE, events: bool = True) -> Path:
    """A trace with one Triton kernel, and a profile of it beside the trace."""
    code = (
        "# AOT ID: ['0_inference']\n# kernel path: /tmp/torchinductor_reader/ab/cab.py\n"
        f"{NAME} = async_compile.triton('{NAME}', '''{source}''', device_str='cuda')\n"
    )
    header = "# GPU Hardware Info: \n# NVIDIA H200 : 2 \n"
    (folder / LOG).write_text("".join([
        *RECORDS[:2],
        record(in_frame(artifact={"name": "fx_graph_runnable"}), header),
        record(in_frame(artifact={"name": "inductor_post_grad_graph"}), LOWERED),
        record(in_frame(inductor_output_code={"filename": "f"}), code),
    ]), encoding="utf-8")  # fmt: skip
    if events:
        profile = {"traceEvents": [event("XBLOCK=256")]}
        (folder / "profile.json").write_text(json.dumps(profile), encoding="utf-8")
    return folder


def compiled(folder: Path, name: str = NAME) -> Job:
    return open_job([folder], kernels=[name])


def test_a_kernel_is_compiled_as_it_was_launched(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    job = compiled(written(tmp_path), "relu")
    (chain,) = job.machine_code
    assert [each.stage for each in chain.panes] == [
        "kernel", "ttir", "ttgir", "llir", "ptx", "sass",
    ]  # fmt: skip
    kernel, ptx = chain.panes[0], chain.panes[4]
    assert isinstance(kernel, Kernel) and kernel.facts.configuration
    assert kernel.facts.configuration.config == Config((("XBLOCK", 256),), 4, 2)
    assert ".reqntid 128" in ptx.code and ".target sm_90a" in ptx.code
    assert "NVIDIA H200, compiled by Triton" in chain.title
    assert any(ptx.links.values()) and kernel.facts.instructions
    assert "XBLOCK=256, num_warps=4, num_stages=2" in page.html(job)
    assert "kernels compiled as they were launched" in page.text(job)


@pytest.mark.parametrize("name", ["a statement", "a call in the heuristic", "Python's open"])
def test_nothing_of_a_file_runs(tmp_path: Path, name: str) -> None:
    pytest.importorskip("triton")
    mark = tmp_path / "mark"
    job = compiled(written(tmp_path, source=changed(name, mark).replace("'" * 3, "")))
    assert job.machine_code == () and not mark.exists()
    assert any("not compiled, since" in remark for remark in job.remarks)


def test_an_operation_that_triton_lacks_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    source = SOURCE.replace("triton_helpers.maximum", "triton_helpers.set_driver_to_cpu")
    job = compiled(written(tmp_path, source=source))
    assert any("triton_helpers.set_driver_to_cpu is no operation" in each for each in job.remarks)


def test_a_compile_that_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code, "_START_SECONDS", 0)
    monkeypatch.setattr(machine_code, "_KERNEL_SECONDS", 0.01)
    assert f"kernel {NAME}: its compile did not end" in compiled(written(tmp_path)).remarks


@pytest.mark.parametrize(
    ("name", "events", "source", "cause"),
    [
        ("sigmoid", True, SOURCE, "no Triton kernel of the job has this in its name"),
        (NAME, False, SOURCE, f"no profile beside the trace says how {NAME} was launched"),
        (NAME, True, "", "the traces have no Triton kernel"),
    ],
)
def test_what_cannot_be_compiled_is_said(
    tmp_path: Path, name: str, events: bool, source: str, cause: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        compiled(written(tmp_path, source=source, events=events), name)
    assert refused.value.cause == cause
    words = ["open", str(tmp_path), "--stages", name]
    done = CliRunner().invoke(tclab, words)
    assert (done.exit_code, cause in done.stderr) == (2, True)


def test_an_ordinary_opening_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code, "_ask", None)
    assert open_job([written(tmp_path)], stages=True).machine_code == ()
