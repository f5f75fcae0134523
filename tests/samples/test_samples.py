"""The samples themselves: there are some of every PyTorch supported, and they say who made them."""

from __future__ import annotations

import json
import re

import pytest

from tclab.capturing.read import graphs
from tclab.system import machine
from tclab.text.scrub import scrub
from tests.samples.log import SAMPLES, Record, read, write
from tests.samples.replay import VERSIONS, text

each_version = pytest.mark.parametrize("version", VERSIONS)

#: The Triton that each PyTorch works with.
TRITON = {"2.11": "3.6.0", "2.12": "3.7.1", "2.13": "3.7.1", "2.14": "3.8.0", "2.15": "3.9.0"}
#: What the readers of `tclab.capturing.read` ask the trace for, beside the graphs.
ASKED = {
    *("dynamo_start", "compilation_metrics", "dynamo_cpp_guards_str", "recompile_reasons"),
    *("dynamo_graph_break_reason", "create_symbol", "chromium_event", "inductor_output_code"),
    *("inductor_provenance_tracking_kernel_stack_traces", "fusion", "bytecode"),
    *("ir_pre_fusion", "ir_post_fusion"),
}


def test_every_supported_version_has_samples():
    (major, first), (_, last) = machine.OLDEST, machine.NEWEST
    assert [f"{major}.{minor}" for minor in range(first, last + 1)] == VERSIONS


@each_version
def test_samples_say_who_made_them(version):
    made_by = json.loads(text(version, "made_by.json"))
    assert made_by["torch"].startswith(version + ".")
    assert made_by["triton"] == TRITON[version]
    assert re.fullmatch(r"[0-9a-f]{40}", made_by["torch_git"])


@each_version
def test_each_version_speaks_of_what_is_read(version):
    said = set(json.loads(text(version, "made_by.json"))["events"])
    asked = ASKED | {event for events in graphs.EVENTS.values() for event in events}
    assert asked - said == set()


@each_version
def test_samples_hold_nothing_of_the_machine_they_were_made_on(version):
    for file in sorted((SAMPLES / f"torch-{version}").iterdir()):
        if file.name != "unscrubbed.txt":
            content = file.read_text(encoding="utf-8")
            assert scrub(content) == content, file.name


#: Of a line: what is a number of one process, and what is left of it.
SCRUBBED = [
    (r"(___check_(?:obj|type)_id\(.+?, )\d+\)", r"\1…)"),
    (r" at 0x[0-9a-f]{12}>", " at 0x…>"),
    (r"(__compiled_fn_\d+)_[0-9a-f_]{36}\)", r"\1)"),
]


@each_version
def test_numbers_of_one_process_are_scrubbed(version):
    lines = text(version, "unscrubbed.txt").splitlines()
    assert len(lines) > 10
    for line in lines:
        expected = line
        for pattern, left in SCRUBBED:
            expected = re.sub(pattern, left, expected)
        assert expected != line
        assert scrub(line) == expected


def test_a_log_gives_back_what_was_written(tmp_path):
    records = [
        Record({"a": 1}, "one\n\ttwo\n"), Record({"b": []}), Record({"c": {"d": None}}, "\n{}\n\n"),
    ]  # fmt: skip
    write(tmp_path / "x.log", records)
    assert list(read(tmp_path / "x.log")) == records
