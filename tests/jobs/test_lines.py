"""The lines of a generated kernel are those of all of its calls."""

from __future__ import annotations

import json
from pathlib import Path

from tclab.jobs import open_job
from tclab.render.job import tables
from tests.jobs.test_inputs import LOG, in_frame, record

TRACED = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8]"):
         # File: train.py:3 in step, code: y = x.relu()
        y: "f32[8]" = torch.relu(l_x_)
         # File: train.py:4 in step, code: z = y.relu()
        z: "f32[8]" = torch.relu(y)
         # File: train.py:5 in step, code: return z.relu()
        w: "f32[8]" = torch.relu(z)
"""
LOWERED = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]"):
         # File: train.py:3 in step, code: y = x.relu()
        relu: "f32[8]" = torch.ops.aten.relu.default(arg0_1)
         # File: train.py:9 in step, code: return z.relu()
        w: "f32[8]" = torch.ops.aten.relu.default(relu)
"""
CODE = """# AOT ID: ['0_inference']
# kernel path: /tmp/torchinductor_reader/ab/cab.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.relu]
# Graph fragment:
#   %relu : Tensor "f32[8][1]cuda:0"= call_function[target=torch.ops.aten.relu](args = (%arg0_1,))
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
def triton_poi_fused_relu_0(in_ptr0):
    pass
''', device_str='cuda')

def call(args):
    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.relu]
    stream0 = get_raw_stream(0)
    triton_poi_fused_relu_0.run(arg0_1, buf0, 8, stream=stream0)
    # Topologically Sorted Source Nodes: [z], Original ATen: [aten.relu]
    stream0 = get_raw_stream(0)
    triton_poi_fused_relu_0.run(buf0, buf1, 8, stream=stream0)
    triton_poi_fused_relu_0.run(buf1, buf2, 8, stream=stream0)
    # Topologically Sorted Source Nodes: [w, elsewhere], Original ATen: [aten.relu]
    stream0 = get_raw_stream(0)
    triton_poi_fused_relu_0.run(buf2, buf3, 8, stream=stream0)
"""


def test_each_call_gives_its_lines(tmp_path: Path) -> None:
    text = [
        record(in_frame(dynamo_output_graph={}), TRACED),
        record(in_frame(artifact={"name": "inductor_post_grad_graph"}), LOWERED),
        record(in_frame(inductor_output_code={"filename": "f"}), CODE),
    ]
    (tmp_path / LOG).write_text("".join(text), encoding="utf-8")
    (process,) = open_job([tmp_path]).processes
    (graph,) = process.graphs
    lines = graph.kernels["triton_poi_fused_relu_0"]
    assert [line.line for line in lines] == [3, 4]  # `w` has two lines, so its own is not known
    assert graph.files == {"cab": "triton_poi_fused_relu_0"}


def test_a_cache_answers_for_its_own_graph(tmp_path: Path) -> None:
    def graph(number: int) -> list[str]:
        meta = {"artifact": {"name": "inductor_post_grad_graph"}, "frame_id": 0}
        code = {"inductor_output_code": {"filename": "f"}, "frame_id": 0}
        return [
            record({**meta, "frame_compile_id": number}, LOWERED),
            record({**code, "frame_compile_id": number}, CODE),
        ]

    def answer(number: int, key: str) -> str:
        meta = {"artifact": {"name": "fx_graph_cache_miss"}, "frame_id": 0}
        return record({**meta, "frame_compile_id": number}, f'{{"key": "{key}"}}')

    # the first graph has no answer: its compile failed, or its cache was off
    text = [*graph(0), *graph(1), answer(1, "one"), answer(2, "of none"), *graph(3), answer(3, "x")]
    (tmp_path / LOG).write_text("".join(text), encoding="utf-8")
    (process,) = open_job([tmp_path]).processes
    keys = [(each.compile_id, each.key) for each in process.graphs]
    assert keys == [("0/0", ""), ("0/1", "one"), ("0/3", "x")]


def test_a_graph_has_the_name_that_vllm_gives_its_part(tmp_path: Path) -> None:
    def part(name: str, last: int) -> str:
        sizes = {"compile_range_start": 1, "compile_range_end": last}
        said = json.dumps({"piecewise_index": 0, "submod_name": name, **sizes})
        return record(in_frame(artifact={"name": "vllm_piecewise_compile_start"}), said)

    graph = [
        record(in_frame(artifact={"name": "inductor_post_grad_graph"}), LOWERED),
        record(in_frame(inductor_output_code={"filename": "f"}), CODE),
    ]
    split = record(in_frame(graph_dump={"name": "vllm_piecewise_split_graph"}), LOWERED)
    text = [split, part("submod_0", 8192), *graph, part("submod_2", 1), *graph]
    (tmp_path / LOG).write_text("".join(text), encoding="utf-8")
    job = open_job([tmp_path])
    (process,) = job.processes
    parts = [each.part for each in process.graphs]
    assert parts == ["submod_0, sizes 1 to 8192", "submod_2, size 1"]
    assert "written by vLLM, piecewise" in job.remarks
    table = tables.graphs(job.processes)
    assert [row[table.columns.index("part")] for row in table.rows] == parts
    assert "part" not in tables.graphs([]).columns
    (stages,) = open_job([tmp_path], stages=True).stages
    titles = [pane.title for pane in stages.chain.panes if pane.stage == "post_grad"]
    assert titles == [
        "Graph after the post-grad passes, inference, submod_0, sizes 1 to 8192, and 1 equal to it",
    ]  # fmt: skip
    assert process.records == len(text)
