"""Which graph gets no CUDA graph, though one was asked for; which kernels one replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tclab.findings.jobs import find_in_job
from tclab.jobs import open_job
from tclab.model import DeviceKernel, DeviceProfile, Job, short_kernel_name
from tclab.render.job import page, tables
from tests.jobs.test_inputs import LOG, in_frame, record
from tests.jobs.test_lines import CODE

WRITES = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]", arg1_1: "f32[4]"):
         # File: train.py:3 in step, code: y = x.relu()
        relu: "f32[8]" = torch.ops.aten.relu.default(arg0_1)
         # File: train.py:4 in step, code: seen.add_(1)
        add: "f32[4]" = torch.ops.aten.add.Tensor(arg1_1, 1)
        copy_: "f32[4]" = torch.ops.aten.copy_.default(arg1_1, add)
        return (relu,)
"""


def findings(folder: Path, static: str, asked: str = "BoxedBool(value=True)") -> list[str]:
    """The findings on a graph that writes into its second argument."""
    parts = [f"[a] fx_kwargs[cudagraphs]: {asked}", f"[b] fx_kwargs[static_input_idxs]: {static}"]
    answer = json.dumps({"key": "k", "components": parts})
    text = [
        record(in_frame(artifact={"name": "inductor_post_grad_graph"}), WRITES),
        record(in_frame(inductor_output_code={"filename": "f"}), CODE),
        record(in_frame(artifact={"name": "fx_graph_cache_miss"}), answer),
    ]
    (folder / LOG).write_text("".join(text), encoding="utf-8")
    found = open_job([folder]).findings
    return [f"{f.places[0]}: {f.what}" for f in found if f.name == "no-cuda-graph"]


def test_an_argument_that_is_written_into_is_named(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "[0]")
    assert found.startswith("train.py:4: mutated inputs (1 instances), by the graph and the key")
    many = "[0, " + ", ".join(map(str, range(2, 300))) + "]"  # as a model's parameters
    assert findings(tmp_path, many) == [found]


@pytest.mark.parametrize(
    ("static", "asked"),
    [("[0, 1]", "BoxedBool(value=True)"), ("[]", "BoxedBool(value=False)"), ("", "True")],
)
def test_a_static_argument_or_no_wish_is_no_finding(
    tmp_path: Path, static: str, asked: str
) -> None:
    assert findings(tmp_path, static, asked) == []


def event(name: str, category: str, start: int, **args: object) -> dict[str, object]:
    return {"name": name, "cat": category, "ph": "X", "ts": start, "dur": 2, "args": args}


def test_replays_are_told_and_not_advised_again(tmp_path: Path) -> None:
    events = [
        event("cudaGraphLaunch", "cuda_runtime", 1),
        event("triton_poi_fused_relu_0", "kernel", 2),
        event("triton_poi_fused_relu_0", "kernel", 90),
    ]
    (tmp_path / "profile.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    job = open_job([tmp_path])
    assert "profile.json: CUDA graphs launched: 1; their kernels" in " ".join(job.remarks)
    (found,) = [each for each in job.findings if each.name == "gpu-idle"]
    assert found.actions == ()
    again = (DeviceProfile("p", span=1.0, busy=0.1, gap_between=("a", "b")),)
    (found,) = find_in_job(Job("run", profiles=again))
    assert "reduce-overhead" in found.actions[0]


def test_a_profile_without_a_gpu_says_so(tmp_path: Path) -> None:
    events = [event("aten::mm", "cpu_op", 1)]
    (tmp_path / "profile.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    job = open_job([tmp_path])
    assert page.text(job).splitlines()[1] == "profile.json: nothing that a GPU ran."
    assert "What the GPU ran" not in page.html(job)


APPLIES = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::{}<float>>(int)"


def test_kernels_with_one_short_name_are_one_row() -> None:
    kernels = [DeviceKernel(APPLIES.format(name), 2, 3e-6) for name in ("Lerp", "Sqrt")]
    hot = DeviceKernel("triton_poi_fused_relu_0", 1, 5e-6, "compiled", "0/0", "forward")
    table = tables.kernels(DeviceProfile("p", (hot, *kernels)))
    shown = [(row[0], row[table.columns.index("times")]) for row in table.rows]
    assert shown == [("multi_tensor_apply_kernel", 4), ("triton_poi_fused_relu_0", 1), ("all", 5)]


def test_a_kernel_of_cutlass_has_the_name_of_its_argument() -> None:
    name = "cutlass_80_simt_sgemm_64x64_8x5_nn_align1"
    assert short_kernel_name(f"void cutlass::Kernel2<{name}>({name}::Params)") == name


def test_lines_that_pytorch_wrote_into_the_timeline_are_read(tmp_path: Path) -> None:
    """As its trace handler of 2.14 writes them: a stack for each node of the kernel."""
    stack = [
        f'  File "/work/train.py", line {line}, in step\n    y = x.relu()\n        ^^^^^^^^\n'
        for line in (3, 4, 3)
    ]
    events = [
        event("triton_poi_fused_relu_0", "kernel", 2, stack=stack),
        event("other", "kernel", 9, stack="text"),
    ]
    (tmp_path / "profile.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    (profile,) = open_job([tmp_path]).profiles
    lines = {each.name: [line.line for line in each.lines] for each in profile.kernels}
    assert lines == {"triton_poi_fused_relu_0": [3, 4], "other": []}
