"""A target as a file: what the driver says of a GPU, read on a machine that has none."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tclab import capture
from tclab.capturing.target.device import device_properties
from tclab.cli import command
from tclab.targets import TARGETS, Target, TargetError, files, get


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(target: Target, **changed: object) -> str:
        path = tmp_path / "gpu.json"
        values = json.loads(files.text(device_properties(target))) | changed
        path.write_text(json.dumps(values))
        return str(path)

    return write


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_the_file_of_a_device_with_a_name_is_that_target(target: Target, written: Any) -> None:
    read = get(written(target))
    assert dataclasses.replace(read, source=target.source) == target


def test_the_file_that_an_h200_wrote_is_the_target_of_that_name() -> None:
    read = get(str(Path(__file__).with_name("h200.json")))
    assert read == TARGETS["h200"]


def test_a_device_without_a_name_gets_kernels(written: Any) -> None:
    path = written(TARGETS["rtx4090"], name="NVIDIA GeForce RTX 4090 D", multi_processor_count=114)
    target = get(path)
    assert (target.name, target.sm_count, target.halves_accumulation) == ("rtx4090d", 114, True)

    made = capture(torch.relu, target=path)(torch.randn(64))
    assert "multi_processor_count=114" in made.kernels[0].code


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a target file of format 1"),
        ('{"format": 2}', "is not a target file of format 1"),
        ('{"format": 1}', "major is None"),
    ],
)
def test_another_file_is_refused_by_its_name(tmp_path: Path, content: str, cause: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(TargetError, match=cause) as raised:
        get(str(path))
    assert str(path) in str(raised.value) and "tclab target-file" in str(raised.value)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"L2_cache_size": 0}, "L2_cache_size is 0"),
        ({"warp_size": True}, "warp_size is True"),
        ({"clock_rate": "fast"}, "clock_rate is 'fast'"),
        ({"name": " "}, "it has no name of a device"),
        ({"major": 99}, "has compute capability 99.0, and known are 7.0, 7.5"),
    ],
)
def test_a_value_that_no_gpu_has_is_refused(
    written: Any, changed: dict[str, object], cause: str
) -> None:
    with pytest.raises(TargetError, match=cause):
        get(written(TARGETS["h200"], **changed))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be read: No such file"):
        get(str(tmp_path / "no.json"))


def test_a_file_with_another_ending(written: Any, tmp_path: Path) -> None:
    file = Path(written(TARGETS["l4"])).rename(tmp_path / "l4.txt")
    with pytest.raises(TargetError, match=r"ends with \.json") as raised:
        get(str(file))
    assert raised.value.next_step == f"mv {file} {tmp_path}/l4.json"


def test_the_command_writes_what_the_driver_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    properties = device_properties(TARGETS["l4"])
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    assert command.main(["target-file"]) == 0
    assert get("gpu.json").name == "l4"


def test_without_a_gpu_the_command_says_where_to_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command.main(["target-file"]) == 1
    assert "next: go to the machine that has one" in capsys.readouterr().err
    assert command.main(["target-file", "gpu.txt"]) == 2
    assert not list(tmp_path.iterdir())
