"""Each compile of a job can be unfolded to its graphs, kernels, guards and output code."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tclab.jobs import open_job
from tclab.model import Chain, Job
from tclab.render.closure import Index
from tclab.render.job import page
from tests.jobs.test_inputs import LOG, RECORDS, STACK, record
from tests.jobs.test_lines import CODE, LOWERED, TRACED

FORWARD = LOWERED.replace('relu: "f32[8]', 'relu_of_forward: "f32[8][1]cuda:0')
GUARDS = """TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x')
| | +- EQUALS_MATCH: L['x'] == {value}  # y = x.relu()  # train.py:3 in step
"""


def compiled(number: int, value: str = "8", **changes: str) -> list[str]:
    """The records of one compile of a frame: 0/`number`. Its guard checks `value`."""
    ids = {"frame_id": 0, "frame_compile_id": number}

    def written(payload: str, **meta: object) -> str:
        for old, new in changes.items():
            payload = payload.replace(old, new)
        return record({**meta, **ids}, payload)

    return [
        written("", dynamo_start={"stack": STACK}),
        written(TRACED, dynamo_output_graph={}),
        written(FORWARD, aot_inference_graph={}),
        written(LOWERED, artifact={"name": "inductor_post_grad_graph"}),
        written(CODE, inductor_output_code={"filename": "f"}),
        written(GUARDS.format(value=value), dynamo_cpp_guards_str={}),
        written("", compilation_metrics={"co_name": "step"}),
    ]


def opened(folder: Path, *compiles: list[str], **options: bool) -> Job:
    text = "".join([RECORDS[0], *(each for records in compiles for each in records)])
    (folder / LOG).write_text(text, encoding="utf-8")
    return open_job([folder], stages=True, **options)


def became(chain: Chain, line: int) -> Mapping[str, list[str]]:
    """The lines of each stage that came from a line of Python."""
    index, found = Index.from_chain(chain), dict[str, list[str]]()
    (start,) = (
        index.starts[n] + line - pane.first_line
        for n, pane in enumerate(chain.panes) if pane.stage == "python"
    )  # fmt: skip
    for number in sorted(index.descendants(start)):
        pane = chain.panes[index.pane(number)]
        text = pane.code.split("\n")[number - index.starts[index.pane(number)]]
        found.setdefault(pane.stage, []).append(text.strip())
    return found


def test_a_line_leads_to_its_nodes_and_kernels(tmp_path: Path) -> None:
    (stages,) = opened(tmp_path, compiled(0)).stages
    assert (stages.title, stages.compiles) == ("step, train.py:3", ("0/0",))
    assert [pane.stage for pane in stages.chain.panes] == [
        "python", "dynamo", "forward", "post_grad", "kernel",
    ]  # fmt: skip
    assert became(stages.chain, 3) == {
        "dynamo": ['y: "f32[8]" = torch.relu(l_x_)'],
        "forward": ['relu_of_forward: "f32[8][1]cuda:0" = torch.ops.aten.relu.default(arg0_1)'],
        "post_grad": ['relu: "f32[8]" = torch.ops.aten.relu.default(arg0_1)'],
        "kernel": ["def triton_poi_fused_relu_0(in_ptr0):"],
    }
    assert "kernel" not in became(stages.chain, 5)
    (guards,) = stages.guards
    assert [(each.source, each.checks) for each in guards] == [("L['x']", ("L['x'] == 8",))]
    (code,) = stages.output_code
    assert "triton_poi_fused_relu_0.run(arg0_1, buf0" in code.code


def test_two_graphs_of_a_compile_keep_their_own_kernels(tmp_path: Path) -> None:
    """Forward and backward of one compile have nodes of the same names."""
    second = compiled(0, **{"in_ptr0": "in_ptr9", "train.py:3": "train.py:4"})[3:5]
    (stages,) = opened(tmp_path, [*compiled(0), *second]).stages
    kernels = became(stages.chain, 3)["kernel"], became(stages.chain, 4)["kernel"]
    assert kernels == (["def triton_poi_fused_relu_0(in_ptr0):"],
                       ["def triton_poi_fused_relu_0(in_ptr9):"])  # fmt: skip


def test_unknown_lines_part_the_lines_of_a_function(tmp_path: Path) -> None:
    (stages,) = opened(tmp_path, compiled(0, **{"train.py:5": "train.py:90"})).stages
    python = [pane for pane in stages.chain.panes if pane.stage == "python"]
    assert [(pane.first_line, pane.code) for pane in python] == [
        (3, "y = x.relu()\nz = y.relu()\n"), (9, "return z.relu()\n"), (90, "return z.relu()\n"),
    ]  # fmt: skip


def test_equal_compiles_stand_once_with_the_guards_of_each(tmp_path: Path) -> None:
    same, other, another = compiled(1, "8"), compiled(2, "9"), compiled(3, relu="sin")
    stages = opened(tmp_path, compiled(0, "8"), same, other, another).stages
    assert [each.compiles for each in stages] == [("0/0", "0/1", "0/2"), ("0/3",)]
    assert [len(each.guards) for each in stages] == [2, 1]


def test_the_last_attempt_of_dynamo_counts(tmp_path: Path) -> None:
    first = record({"dynamo_output_graph": {}, "frame_id": 0, "frame_compile_id": 0},
                   TRACED.replace("relu", "cos"))  # fmt: skip
    (stages,) = opened(tmp_path, [first, *compiled(0)]).stages
    (dynamo,) = (pane.code for pane in stages.chain.panes if pane.stage == "dynamo")
    assert "torch.relu" in dynamo and "cos" not in dynamo


def test_a_job_is_read_without_stages_unless_asked(tmp_path: Path) -> None:
    assert opened(tmp_path, compiled(0)).stages
    assert open_job([tmp_path]).stages == ()


def test_a_token_is_hidden_in_code_and_in_what_links_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOB_TOKEN", "sk-4fT7qZ81xx")
    hidden = {"relu()": "relu('sk-4fT7qZ81xx')", "train.py": "/home/me/lab/sk-4fT7qZ81xx.py"}
    job = opened(tmp_path, compiled(0, "'sk-4fT7qZ81xx'", **hidden))
    assert "sk-4fT7qZ81xx" not in repr(job.stages)
    assert "JOB_TOKEN" in repr(job.stages)


# ------------------------------------------------------------------------------ the page


def unpacked(text: str) -> dict[str, Any]:
    """The compressed parts of a page by their ids."""
    found = re.findall(r'<script type="application/gzip" id="([^"]+)">([^<]+)</script>', text)
    return {name: json.loads(gzip.decompress(base64.b64decode(data))) for name, data in found}


def test_the_page_has_the_stages_as_compressed_data(tmp_path: Path) -> None:
    text = page.html(opened(tmp_path, compiled(0), compiled(1, relu="sin")))
    assert text.count('<div class="tclab-chain"') == 0
    assert "step, train.py:3 (0/0): 1 kernel</summary>" in text
    first, second = unpacked(text).values()
    assert first[0].count('<div class="tclab-chain"') == 1
    assert "torch.relu(l_x_)" in first[0] and "torch.sin(l_x_)" in second[0]
    assert "L[&#39;x&#39;] == 8" in first[0] and "Output code" in first[0]


def test_a_compile_in_a_table_leads_to_its_stages(tmp_path: Path) -> None:
    text = page.html(opened(tmp_path, compiled(0)))
    assert text.count('<td><a href="#stages-0">0/0</a></td>') == 2  # compiles, graphs
    assert 'id="stages-0"' in text
    assert 'href="#stages-0"' not in page.html(open_job([tmp_path]))


def test_a_large_job_is_several_files(tmp_path: Path) -> None:
    job = opened(tmp_path, *(compiled(n, relu=f"relu_{n}") for n in range(5)))
    ((_, whole),) = page.files(job, "job.html")
    most = max(map(len, re.findall("<details class=.explain-chain.*?</details>", whole))) * 5 // 2
    files = dict(page.files(job, "job.html", most_bytes=most))
    assert [*files] == ["job.html", "job-stages/2.html", "job-stages/3.html"]
    assert sum(len(unpacked(text)) for text in files.values()) == 5
    assert 'href="job-stages/2.html#stages-2"' in files["job.html"]
    assert 'id="stages-2"' in files["job-stages/2.html"]
    assert 'href="../job.html"' in files["job-stages/2.html"]
    assert "compiles 0/2 to 0/3" in files["job.html"]


def test_many_compiles_are_folded(tmp_path: Path) -> None:
    job = opened(tmp_path, *(compiled(n, relu=f"relu_{n}") for n in range(15)))
    assert "3 more compiles, stage by stage" in page.html(job)
    assert page.html(replace(job, stages=())).count("Stage by stage") == 0
