"""The ranks of a job are compared by what they must have in common, and told from other jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tclab.findings.jobs import find_in_job
from tclab.jobs import open_job
from tclab.jobs.inputs import rank_in_name
from tclab.model import CacheLookup, Job, JobCompile, JobProcess, KeyPart, SourceLine
from tests.jobs.test_inputs import RECORDS, in_frame, record

NAMES = ("all_reduce_", "wait_tensor", "all_gather_into_tensor", "wait_tensor")


def schedule(*names: str) -> str:
    calls = [f"torch.ops._c10d_functional.{name}.default" for name in names]
    return record(in_frame(artifact={"name": "inductor_collective_schedule"}), json.dumps(calls))


def order(*graphs: str) -> str:
    ran = {"graph_execution_order": [{"compile_id": graph} for graph in graphs]}
    return record({"artifact": {"name": "graph_execution"}}, json.dumps(ran))


def tensors(rows: int) -> str:
    output = {"shape": [rows, 64], "stride": [64, 1], "dtype": "float16"}
    made = {"ops": [{"name": "op1", "estimated_runtime_ns": 1.0 * rows, "outputs": [output]}]}
    name = "inductor_runtime_and_tensor_meta"
    return record(in_frame(artifact={"name": name}), json.dumps(made))


def write(folder: Path, logs: Mapping[str, str]) -> Path:
    for name, text in logs.items():
        (folder / f"dedicated_log_torch_trace_{name}.log").write_text(text, encoding="utf-8")
    return folder


def differences(folder: Path, *of_ranks: str) -> list[str]:
    """What differs between ranks whose logs end with these records."""
    logs = {f"rank_{n}_ab{n}": "".join(RECORDS) + more for n, more in enumerate(of_ranks)}
    findings = open_job([write(folder, logs)]).findings
    return [each.what for each in findings if each.name == "ranks-differ"]


def test_the_collective_that_differs_is_named(tmp_path: Path) -> None:
    same, other = schedule(*NAMES), schedule(*NAMES[:2], "reduce_scatter_tensor", *NAMES[2:])
    assert differences(tmp_path, same, same) == []
    (found,) = differences(tmp_path, same, same, other, other)
    assert found == (
        "rank 2, like rank 3, calls reduce_scatter_tensor as collective 3 of the graph 0/0, where "
        "rank 0 calls all_gather_into_tensor as collective 3 of the graph 0/0"
    )


def test_the_order_of_graphs_and_their_tensors_are_compared(tmp_path: Path) -> None:
    first = order("0/0", "0/1") + tensors(64)
    (found,) = differences(tmp_path, first, order("0/1", "0/0") + tensors(64))
    assert found == (
        "rank 1 runs 0/1 as graph 1 of those that ran, "
        "where rank 0 runs 0/0 as graph 1 of those that ran"
    )
    (found,) = differences(tmp_path, first, order("0/0", "0/1") + tensors(96))
    assert "op1: float16 [96, 64] of stride [64, 1], where rank 0" in found


@pytest.mark.parametrize("payload", ["", "null", "3", '{"ops": 3}', '[{"name": 1}]', "{"])
def test_a_schedule_of_another_form_is_left_out(tmp_path: Path, payload: str) -> None:
    names = ("inductor_runtime_and_tensor_meta", "graph_execution")
    wrong = "".join(record(in_frame(artifact={"name": name}), payload) for name in names)
    assert differences(tmp_path, wrong, wrong) == []


def test_ranks_that_compile_one_after_the_other_are_one_job(tmp_path: Path) -> None:
    first, second = "".join(RECORDS), "".join(RECORDS).replace("03:02:44", "04:00:00")
    job = open_job([write(tmp_path, {"rank_0_ab1": first, "rank_1_cd2": second})])
    assert [each.rank for each in job.processes] == [0, 1]
    assert not [each for each in job.remarks if "in one folder" in each]


def test_two_jobs_with_ranks_in_one_folder_are_told(tmp_path: Path) -> None:
    """Two runs of two ranks each, of two programs, one after the other."""

    def of(program: str, clock: str) -> str:
        stack = [{"line": 9, "name": "<module>", "filename": 1, "loc": "main()"}]
        start = record(in_frame(dynamo_start={"stack": stack}))
        text = RECORDS[0] + start + "".join(RECORDS[1:])
        return text.replace("train.py", program).replace("03:02:44", clock)

    train, serve = of("train.py", "03:00:00"), of("serve.py", "05:00:00")
    both = {"rank_0_ab1": train, "rank_1_cd2": train, "rank_0_ef3": serve, "rank_1_gh4": serve}
    job = open_job([write(tmp_path, both)])
    (programs, jobs) = [each for each in job.remarks if "folder" in each]
    assert programs.startswith("2 programs wrote the traces of one folder: ")
    assert "serve.py (dedicated" in programs and "train.py (dedicated" in programs
    assert jobs.startswith("2 jobs in one folder") and "rank_0_ef3" in jobs
    assert not [each for each in job.findings if each.name == "ranks-differ"]


def test_other_answers_of_a_cache_are_remarked(tmp_path: Path) -> None:
    def answer(state: str) -> str:
        said = json.dumps({"key": "k", "components": []})
        return record(in_frame(artifact={"name": f"fx_graph_cache_{state}"}), said)

    logs = {f"rank_{n}_a{n}": "".join(RECORDS) + answer(s) for n, s in enumerate(("miss", "hit"))}
    job = open_job([write(tmp_path, logs)])
    assert "rank 1: hit of 0/0 in Inductor's cache, miss on rank 0" in job.remarks
    assert not [each for each in job.findings if each.name == "ranks-differ"]


def test_the_rank_is_that_of_the_file_s_name() -> None:
    assert rank_in_name("a/dedicated_log_torch_trace_rank_12_4n2ziqx2.log.gz") == 12
    assert rank_in_name("dedicated_log_torch_trace_rank_3.log") == 3
    assert rank_in_name("dedicated_log_torch_trace_4n2ziqx2.log") is None
    assert rank_in_name("rank_3.log") is None


def tensor(rows: int, index: int) -> str:
    return (
        f"TensorMetadata(dtype=torch.float16, shape=torch.Size([{rows}, 64]), stride=(64, 1), "
        f"device=device(type='cuda', index={index}), layout=torch.strided)"
    )


def missed(*parts: KeyPart) -> JobProcess:
    lookup = CacheLookup("0/0", "Inductor", "miss", beside="rank_0", changed=parts)
    return JobProcess("rank_1", 1, compiles=(JobCompile("0/0", seconds=1.0),), lookups=(lookup,))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([("x[0]", tensor(8, 0), tensor(8, 1)), ("x[1]", tensor(9, 0), tensor(9, 1))],
         "rank_1 missed what another rank has, since the key differs in the index of the GPU"),
        ([("x[0]", tensor(8, 0), tensor(5, 0)), ("x[1]", tensor(8, 0), tensor(5, 0))],
         "since the key differs in x[0] and 1 more: shape=torch.Size([8 → shape=torch.Size([5"),
        ([("config[debug]", "False", "True"), ("config[cut]", "<bytes>", "<bytes>")],
         "debug]: False → True; config[cut]: other values, which the trace does not show"),
    ],
)  # fmt: skip
def test_a_key_s_long_parts_are_shown_where_they_differ(
    parts: list[tuple[str, str, str]], said: str
) -> None:
    (found,) = find_in_job(Job("run", (missed(*(KeyPart(*part) for part in parts)),)))
    assert found.what.endswith(said)


def test_compile_time_in_a_library_stands_at_the_line_that_calls_it() -> None:
    inner = SourceLine("torch/_dynamo/external_utils.py", 67, function="inner")
    line = SourceLine("train.py", 16, "loss = net(x)", "step")
    process = JobProcess(
        "run",
        compiles=(JobCompile("0/0", "inner", inner, own=False, seconds=60.0),),
        callers={f"{inner.file}:inner": line},
    )
    (found,) = find_in_job(Job("run", (process,)))
    assert found.places == (line,)
    assert "inner (torch/_dynamo/external_utils.py:67), which this line calls, in 1" in found.what
