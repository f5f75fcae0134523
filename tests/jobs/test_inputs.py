"""What is no trace, or a damaged one, ends with a clear message; nothing is unpacked or run."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.capturing.trace.records import read_log
from tclab.cli.command import tclab
from tclab.errors import BadRequest
from tclab.jobs import open_job
from tclab.jobs.process import read_process
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


def job_of(folder: Path, text: str) -> Path:
    (folder / "dedicated_log_torch_trace_a.log").write_text(text, encoding="utf-8")
    return folder


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
    outside = job_of(tmp_path, "".join(RECORDS)) / "dedicated_log_torch_trace_a.log"
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
    log = read_log(text.splitlines(keepends=True))
    process = read_process("log", log).process
    heads = sum(line.startswith(HEAD[:5]) and "] " in line for line in text.split("\n"))
    assert process.records + sum(process.unread.values()) <= heads + text.count("\n") + 1
    assert process.records <= len(RECORDS)


def test_a_command_passes_its_output_and_its_status(tmp_path: Path) -> None:
    log = tmp_path / "prepared.log"
    log.write_text("".join(RECORDS), encoding="utf-8")
    program = (
        "import os, shutil, sys; os.makedirs(os.environ['TORCH_TRACE'], exist_ok=True);"
        f"shutil.copy({str(log)!r}, os.environ['TORCH_TRACE']); sys.exit(7)"
    )
    done = CliRunner().invoke(tclab, ["open", "--", sys.executable, "-c", program])
    assert done.exit_code == 7
    assert "1 compile" in done.stderr
    nothing = CliRunner().invoke(tclab, ["open", "--", sys.executable, "-c", "print(1)"])
    assert nothing.exit_code == 2
    missing = CliRunner().invoke(tclab, ["open", "--", str(tmp_path / "no-such-program")])
    assert missing.exit_code == 2
