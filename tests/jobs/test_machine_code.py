"""A kernel of a job is compiled as a profile says that it was launched; a file that has more than
a kernel of Inductor's is refused, before it is loaded or before it is compiled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tclab.capturing.machine_code import triton
from tclab.capturing.machine_code.foreign import check_source
from tclab.cli import terminal
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
HELPER = "@triton.jit\ndef add(a, b):\n    return a + b\n\n"
WITH_HELPER = SOURCE.replace("@triton_heuristics", HELPER + "@triton_heuristics").replace(
    LOAD, f"add({LOAD}, 1)"
)
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
    "a file's name": ("filename=__file__", "filename='{file}'"),
    "an argument without a name": ("size_hints={'x': 1024}", "{'x': 1024}"),
    "unpacked arguments": (LOAD, "tl.load(in_ptr0, **xmask)"),
    "a function twice": ("@triton_heuristics", HELPER + HELPER + "@triton_heuristics"),
    "a name of Python's": (
        "@triton_heuristics",
        HELPER.replace("add", "__builtins__") + "@triton_heuristics",
    ),
    "another encoding": ("\nimport triton\n", "# -*- coding: utf-7 -*-\nimport triton\n"),
    "another alphabet": ("x0 = xindex", "\u00aa = x0 = xindex"),
    "a long text": ("x0 = xindex", "x0 = xindex" + "  # " + "x" * 500_000),
    "no Python": ("x0 = xindex", "x0 = = xindex"),
    "a text in depth": (LOAD, "(" * 500 + "1" + ")" * 500),
}

#: A function of another text in a text, and in a kernel's helper, which Triton finds first.
OTHER_TEXT = """'\'\'\\
def k(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    (triton if 1 else 0).runtime.build.subprocess.os.system("touch {file}")
    \"\"\"
'\'\'"""
OTHER_HELPER = """@triton.jit
def \\
add(a, b):
    '\'\'
def add(a, b):
    return triton.x
    \"\"\"
    '\'\'
    return a + b  # \"\"\"

@triton_heuristics"""
#: What stands in the kernel's file → what a hostile file has there, and why it is not compiled once
#: it is loaded: Triton takes this for something else than Python does.
HOSTILE_LOADED = {
    "code in a type": (
        "'out_ptr0': '*fp32'",
        "'out_ptr0': \"tensordesc<fp32[16],__import__('os').system('touch {file}')>\"",
        "an argument has a type",
    ),
    "no text as a type": ("'out_ptr0': '*fp32'", "'out_ptr0': ('*fp32',)", "an argument has a"),
    "a function in a text": ("'no_x_dim': False", "'z': " + OTHER_TEXT, "another text of"),
    "a function in a helper": ("@triton_heuristics", OTHER_HELPER, "another text of add"),
    "no function": (f"def {NAME}", f"def \\\n{NAME}", ""),
    "another maker": ("type='cuda'", "type='hip'", "not made for this GPU"),
    "options for ptxas": ("cc=90", "cc='90 -x'", "not made for this GPU"),
    "another GPU": ("cc=90", "cc=80", "not made for this GPU"),
}


def changed(name: str, file: Path | str) -> str:
    before, after, *_ = {**HOSTILE, **HOSTILE_LOADED}[name]
    assert SOURCE.count(before) >= 1, name
    return SOURCE.replace(before, after.replace("{{", "{").replace("}}", "}")
                          .replace("{file}", str(file)), 1)  # fmt: skip


def test_a_kernel_of_inductor_is_accepted() -> None:
    named = check_source(NAME, SOURCE)
    assert {("tl", "load"), ("triton_helpers", "maximum"), ("libdevice", "rsqrt")} <= {*named}
    assert check_source(NAME, WITH_HELPER)


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


def test_a_constant_of_many_digits_is_left_out() -> None:
    profile = inputs.Profile("p", [event("XBLOCK=256,R0_BLOCK=" + "9" * 5000)])
    assert read_configurations(profile) == {"cab": Config((("XBLOCK", 256),), 4, 2)}


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


#: A kernel that Inductor made from a template: its source has its configuration.
TEMPLATE = (
    SOURCE.partition("@triton_heuristics")[0]
    + """
@triton_heuristics.template(

num_stages=3,
num_warps=8,
triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32'}, 'device': \
DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, \
regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32), \
'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}]},
inductor_meta={'kernel_name': 'triton_poi_fused_relu_0', 'autotune_local_cache': True},

)
@triton.jit
def triton_poi_fused_relu_0(in_ptr0, out_ptr0):
    BLOCK : tl.constexpr = 256
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr0 + (index), tl.load(in_ptr0 + (index)))
"""
)


def test_a_template_s_kernel_needs_no_profile(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (chain,) = compiled(written(tmp_path, source=TEMPLATE, events=False)).machine_code
    kernel, ptx = chain.panes[0], chain.panes[4]
    assert isinstance(kernel, Kernel) and kernel.facts.configuration
    assert kernel.facts.configuration.config == Config((), 8, 3)
    assert ".reqntid 256" in ptx.code


@pytest.mark.parametrize("name", ["a statement", "a call in the heuristic", "Python's open"])
def test_a_refused_file_is_not_loaded(tmp_path: Path, name: str) -> None:
    pytest.importorskip("triton")
    mark = tmp_path / "mark"
    job = compiled(written(tmp_path, source=changed(name, mark).replace("'" * 3, "")))
    assert job.machine_code == () and not mark.exists()
    assert any("not compiled, since" in remark for remark in job.remarks)


def asked(*sources: str, name: str = NAME) -> list[Mapping[str, Any]]:
    """The child's answer for each of the sources."""
    launch = {"constants": {"XBLOCK": 256}, "num_warps": 4, "num_stages": 1, "target": "h200"}
    return list(machine_code._ask([{"name": name, "source": each, **launch} for each in sources]))


def test_what_triton_reads_otherwise_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    mark = tmp_path / "mark"
    hostile = {name: changed(name, mark) for name in HOSTILE_LOADED}
    # the text that Triton would compile ends at the first line of the checked function
    line = "    xoffset = tl.program_id(0) * XBLOCK"
    hostile["a function in a text"] = hostile["a function in a text"].replace(
        line, f'{line}  # """'
    )
    for name, source in hostile.items():
        assert check_source(NAME, source), name
    *answers, compiled_after, with_helper = asked(
        *hostile.values(),
        SOURCE.replace("'*fp32'", "'*fp16'"),
        WITH_HELPER,
    )  # fmt: skip
    causes = {name: answer.get("cause", "compiled") for name, answer in zip(hostile, answers)}
    wrong = {n: c for n, c in causes.items() if c == "compiled" or HOSTILE_LOADED[n][2] not in c}
    assert not wrong and not mark.exists()
    assert "chain" in compiled_after and "chain" in with_helper


def test_a_constant_that_needs_much_memory_is_given_up() -> None:
    pytest.importorskip("triton")
    constant = "    tl.static_assert('a' * 9663676416 != 'b')\n    x0 = xindex"
    (answer,) = asked(SOURCE.replace("    x0 = xindex", constant))
    assert "Triton cannot compile it" in answer["cause"]


def test_a_module_of_the_working_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    mark = tmp_path / "mark"
    for name in ("tclab/__init__", "json", "torch", "resource"):
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(["", ".", ""]) + os.environ.get("PYTHONPATH", "")
    )
    (answer,) = asked("import os")
    assert "not compiled, since" in answer["cause"] and not mark.exists()


def test_no_escape_of_a_file_reaches_the_terminal(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "a\x1b]0;title\x07.json").write_text("{", encoding="utf-8")
    text = page.text(open_job([folder]))
    assert "\x1b" not in text and "a\u241b]0;title\u2407.json" in text


def test_no_escape_of_a_name_is_in_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_error(BadRequest("--stages", "no \x1b]0;title\x07 here", "\x9b31mnext"))
    message = capsys.readouterr().err
    assert "\u241b]0;title\u2407" in message and not {"\x1b", "\x9b", "\x07"} & {*message}


def test_an_error_without_words_has_its_name() -> None:
    assert triton._first_line(AssertionError()) == "AssertionError"


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


@pytest.mark.parametrize("name", ["tl", "libdevice", "range", "__init__"])
def test_a_kernel_with_a_name_of_tritons_is_refused(name: str) -> None:
    with pytest.raises(CaptureError, match="replaces a name"):
        check_source(name, SOURCE.replace(NAME, name))
