"""What is no trace, or a damaged one, ends with a clear message; nothing is unpacked or run."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.capturing.read.times import PhaseTimes, read_compile_time
from tclab.capturing.trace.records import read_log
from tclab.errors import BadRequest
from tclab.jobs import inputs, open_job
from tclab.jobs.process import read_process
from tclab.model import CompileTime
from tclab.render.job import page

HEAD = "V1126 03:02:44.762000 600 torch/_dynamo/convert_frame.py:276] "


def record(meta: dict[str, object], payload: str = "") -> str:
    lines = "".join(f"\t{line}\n" for line in payload.splitlines())
    return f"{HEAD}{json.dumps(meta)}\n{lines}"


def in_frame(**meta: object) -> dict[str, object]:
    return {**meta, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}


STACK = [{"line": 3, "name": "step", "filename": 1, "loc": "x.item()"}]
METRICS = {"co_name": "step", "entire_frame_compile_time_s": 1.5, "guard_count": 4}
RECORDS = [
    record({"str": ["/home/me/lab/train.py", 1]}),
    record(in_frame(dynamo_start={"stack": STACK})),
    record(in_frame(artifact={"name": "recompile_reasons", "encoding": "json"}), '["0/0: a == 1"]'),
    record(
        in_frame(chromium_event={}), '{"name": "dynamo", "ph": "B", "ts": 1.0, "pid": 0, "tid": 0}'
    ),
    record(
        in_frame(chromium_event={}), '{"name": "dynamo", "ph": "E", "ts": 9.0, "pid": 0, "tid": 0}'
    ),
    record(in_frame(inductor_output_code={"filename": "f"}), "# AOT ID: ['0_inference']\nx = 1"),
    record(in_frame(compilation_metrics=METRICS)),
]


LOG = "dedicated_log_torch_trace_a.log"
#: The records with the text of a large graph, as lines of a log.
RECORDS_AS_LINES = "".join(
    [*RECORDS[:-2], record(in_frame(inductor_output_code={"filename": "f"}), "x = 1\n" * 2_000)]
).splitlines(keepends=True)


def job_of(folder: Path, text: str) -> Path:
    (folder / LOG).write_text(text, encoding="utf-8")
    return folder


def at(clock: str) -> str:
    """The text of a log whose records were all written at a time."""
    return "".join(RECORDS).replace("03:02:44", clock)


@pytest.mark.parametrize(
    ("clocks", "jobs"),
    [
        ({"a": ("03:00:00", "03:00:09"), "b": ("03:00:05", "03:01:00")}, 1),
        ({"a": ("03:00:00", "03:00:09"), "b": ("03:10:00", "03:11:00")}, 2),
        ({"c": ("03:00:00", "03:00:09"), "a": ("03:10:00", "03:11:00"),
          "b": ("03:10:05", "03:10:06"), "d": ("04:00:00", "04:00:00")}, 3),
    ],
)  # fmt: skip
def test_two_jobs_in_one_folder_are_told(
    tmp_path: Path, clocks: dict[str, tuple[str, str]], jobs: int
) -> None:
    for name, (began, ended) in clocks.items():
        (tmp_path / f"{name}.log").write_text(at(began) + at(ended), encoding="utf-8")
    told = [each for each in open_job([tmp_path]).remarks if "in one folder" in each]
    assert len(told) == (jobs > 1)
    assert all(each.startswith(f"{jobs} jobs in one folder") for each in told)
    files = [tmp_path / f"{name}.log" for name in clocks]
    assert not [each for each in open_job(files).remarks if "in one folder" in each]


def test_a_log_is_read_record_by_record(tmp_path: Path) -> None:
    job = open_job([job_of(tmp_path, "".join(RECORDS))])
    (process,) = job.processes
    (compiled,) = process.compiles
    assert (compiled.function, compiled.seconds, compiled.guards) == ("step", 1.5, 4)
    assert str(compiled.location) == "train.py:3"
    assert (process.records, process.unread) == (len(RECORDS), {})


@pytest.mark.parametrize("kind", ["gz", "tar", "folder in folder"])
def test_compressed_and_archived(tmp_path: Path, kind: str) -> None:
    text = "".join(RECORDS).encode()
    path = tmp_path / "log.gz"
    if kind == "gz":
        path.write_bytes(gzip.compress(text))
    elif kind == "tar":
        path = tmp_path / "job.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            for name in ("../../outside.log", "/absolute.log"):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))
    else:
        (tmp_path / "a" / "b").mkdir(parents=True)
        path = job_of(tmp_path / "a" / "b", text.decode()).parents[1]
    before = {each for each in tmp_path.parent.rglob("*") if each.is_file()}
    assert len(open_job([path]).processes) == (2 if kind == "tar" else 1)
    assert before == {each for each in tmp_path.parent.rglob("*") if each.is_file()}


@pytest.mark.parametrize(
    "content",
    ["", "<!doctype html><p>a page", "{}", '{"traceEvents": 3}', "\x1f\x8b broken", "[1, 2]",
     "plain text\n" * 9, "{" * 90_000],
)  # fmt: skip
def test_what_is_no_trace_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content, encoding="latin-1")
    with pytest.raises(BadRequest, match="no trace"):
        open_job([tmp_path])


def test_wrong_paths(tmp_path: Path) -> None:
    for path, cause in ((tmp_path / "none", "does not exist"), (tmp_path, "has no trace")):
        with pytest.raises(BadRequest, match=cause):
            open_job([path])
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    with pytest.raises(BadRequest, match="not a readable archive"):
        open_job([tmp_path / "bad.tar"])


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = job_of(tmp_path, "".join(RECORDS)) / LOG
    inside = tmp_path / "job"
    inside.mkdir()
    (inside / "link.log").symlink_to(outside)
    with pytest.raises(BadRequest, match="no trace"):
        open_job([inside])


def test_tokens_of_the_job_are_hidden_and_text_stays_text(tmp_path: Path) -> None:
    runnable = "os.environ['HF_TOKEN'] = 'hf_Ab12Cd34Ef56'\n"
    hostile = "[\"0/0: L['<script>alert(1)</script>'] == 'hf_Ab12Cd34Ef56'\"]"
    records = [
        *RECORDS,
        record(in_frame(artifact={"name": "fx_graph_runnable"}), runnable),
        record(
            {**in_frame(artifact={"name": "recompile_reasons"}), "frame_compile_id": 1}, hostile
        ),
        record({**in_frame(dynamo_start={"stack": STACK}), "frame_compile_id": 1}),
    ]
    job = open_job([job_of(tmp_path, "".join(records))])
    html = page.html(job)
    assert "hf_Ab12Cd34Ef56" not in html + page.text(job) + job.to_json()
    assert "<value of HF_TOKEN>" in page.text(job)
    assert "<script>alert" not in html


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 5_000), st.integers(0, 2**32), st.text(max_size=30))
def test_cut_and_shuffled_records_are_read_or_counted(cut: int, seed: int, noise: str) -> None:
    records = [*RECORDS, noise]
    random.Random(seed).shuffle(records)
    text = "".join(records)[: -cut or None]
    log = read_log(io.StringIO(text, newline="\n"))
    process = read_process("log", log, CompileTime()).process
    heads = sum(line.startswith(HEAD[:5]) and "] " in line for line in text.split("\n"))
    assert process.records + sum(process.unread.values()) <= heads + text.count("\n") + 1
    assert process.records <= len(RECORDS)


def test_what_precedes_the_damage_is_read(tmp_path: Path) -> None:
    text = "".join(RECORDS).encode()
    noise = random.Random(0).randbytes(100_000).hex()  # more than one block of the decompressor
    with tarfile.open(tmp_path / "whole.tar.gz", "w:gz") as tar:
        for name, content in (("rank0/log", text), ("rank1/log", noise.encode())):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "whole.tar.gz").read_bytes()[:-9_000])
    job = open_job([tmp_path / "cut.tar.gz"])
    assert [each.name for each in job.processes] == ["rank0/log"]
    assert any("the rest of cut.tar.gz: cannot be read" in remark for remark in job.remarks)

    log = "".join([*RECORDS, record({"artifact": {"name": "noise"}}, noise)])
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(log.encode())[:-9_000])
    (process,) = open_job([tmp_path / "cut.log.gz"]).processes
    assert [each.function for each in process.compiles] == ["step"]
    assert process.unread == {"the rest, since the file is damaged": 1}


def test_equal_names_stay_apart(tmp_path: Path) -> None:
    for folder in ("a/run", "b/run"):
        (tmp_path / folder).mkdir(parents=True)
        job_of(tmp_path / folder, "".join(RECORDS))
    for paths in (["a/run", "b/run"], [f"{each}/run/{LOG}" for each in "ab"]):
        job = open_job([tmp_path / each for each in paths])
        assert len({each.name for each in job.processes}) == 2


def test_a_folder_that_is_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(folder: Path, onerror: Callable[[OSError], None]) -> Iterator[object]:
        onerror(PermissionError(13, "Permission denied", str(folder / "closed")))
        yield str(folder), [], [LOG]

    monkeypatch.setattr(inputs.os, "walk", walk)
    job = open_job([job_of(tmp_path, "".join(RECORDS))])
    assert any("closed: cannot be read: " in remark for remark in job.remarks)


def test_lines_before_the_first_record_are_counted(tmp_path: Path) -> None:
    (process,) = open_job([job_of(tmp_path, "".join(["\tcut\n", *RECORDS]))]).processes
    assert process.unread == {"a line outside of any record": 1}


def test_a_rank_is_missing_and_one_came_twice(tmp_path: Path) -> None:
    for number, rank in enumerate((0, 2, 2)):
        text = "".join(RECORDS).replace('"attempt": 0', f'"attempt": 0, "rank": {rank}')
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_{number}.log").write_text(text)
    remarks = open_job([tmp_path]).remarks
    assert "no trace of rank 1" in remarks
    assert "2 traces of rank 2: more than one job, or one that began again" in remarks


def test_the_memory_for_many_records_is_bounded() -> None:
    # as ten million would: what is kept of a record decides
    def lines(records: int) -> Iterator[str]:
        for _ in range(records):
            yield record({"describe_tensor": {"id": 1, "size": 8}})

    def peak(records: int) -> int:
        tracemalloc.start()
        log = read_log(lines(records))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert log.counts["describe_tensor"] == records
        return most

    assert peak(20_000) < 1.2 * peak(2_000) + 50_000


def test_phases_and_metrics_are_not_kept() -> None:
    """A long job has millions of phases, and of each compile more than a hundred metrics."""
    many = {f"field_{n}": "x" * 1_000 for n in range(100)}

    def lines(records: int) -> Iterator[str]:
        for _ in range(records):
            yield from "".join(RECORDS[3:5]).splitlines(keepends=True)
        yield record(in_frame(compilation_metrics={**METRICS, **many}))

    times = PhaseTimes()
    log = read_log(lines(500), on_phase=times.add)
    assert log.counts["chromium_event"] == 1_000
    (metrics, _) = log.trace.events
    assert metrics.name == "compilation_metrics" and {*metrics.data} == {*METRICS}
    assert times.compile_time() == read_compile_time(read_log(lines(500)).trace)
    assert times.compile_time().compiles == 500


def test_the_memory_for_repeated_records_is_small(tmp_path: Path) -> None:
    def peak(times: int) -> int:
        tracemalloc.start()
        log = read_log(line for _ in range(times) for line in RECORDS_AS_LINES)
        read_process("log", log, CompileTime())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert (peak(1_100) - peak(100)) / 1_000 < 0.6 * sum(map(len, RECORDS_AS_LINES))


@pytest.mark.parametrize("value", [None, "x", [], {}])
def test_a_record_of_another_form_costs_only_itself(tmp_path: Path, value: object) -> None:
    wrong = [
        record(in_frame(compilation_metrics=value)),
        record(in_frame(compilation_metrics={"guard_count": value or ["x"]})),
        record(in_frame(dynamo_start={"stack": value or "x"})),
        record(in_frame(chromium_event={}), json.dumps({"name": "a", "ph": "B", "ts": value})),
        record(
            in_frame(chromium_event={}),
            json.dumps({"name": "a", "ph": "B", "ts": 1.0, "pid": [value], "tid": 0}),
        ),
    ]
    (process,) = open_job([job_of(tmp_path, "".join([*RECORDS, *wrong]))]).processes
    assert process.compiles[0].function == "step"
    # metrics without a field are a record; what is left of these is counted
    assert process.records + sum(process.unread.values()) == len(RECORDS) + len(wrong)
    assert process.unread["not in PyTorch's form"] >= len(wrong) - 1


#: The settings in the metrics of a compile, by the PyTorch that writes them → the setting found.
SETTINGS: list[tuple[dict[str, object], str]] = [
    ({"compiler_config": '{"force_disable_caches": true}', "inductor_config": "{}"},  # 2.13
     "torch.compiler.config.force_disable_caches = True"),
    ({"inductor_config": '{"force_disable_caches": true, "fx_graph_cache": true}'},  # 2.9
     "torch.compiler.config.force_disable_caches = True"),
    ({"inductor_config": '{"fx_graph_cache": false, "fx_graph_remote_cache": null}'},
     "torch._inductor.config.fx_graph_cache = False"),
    ({"inductor_config": '{"fx_graph_cache": false, "fx_graph_remote_cache": true}'}, ""),
    ({"inductor_config": '{"fx_graph_cache": true}'}, ""),
    ({"inductor_config": "{cut", "compiler_config": 3}, ""),
    ({}, ""),  # 2.6
]  # fmt: skip


@pytest.mark.parametrize(("settings", "found"), SETTINGS)
def test_a_setting_that_turns_the_caches_off_is_a_finding(
    tmp_path: Path, settings: dict[str, object], found: str
) -> None:
    metrics = record(in_frame(compilation_metrics=METRICS | settings))
    job = open_job([job_of(tmp_path, "".join([*RECORDS[:-1], metrics]))])
    assert [each.caches_off for each in job.processes] == [found]
    assert [each.what for each in job.findings if each.name == "caches-off"] == (
        [f"no compiled graph is kept for the next start: {found}"] if found else []
    )
