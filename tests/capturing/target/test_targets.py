from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Any

import pytest
import torch

import tclab
from tclab import targets
from tclab.capturing.machine_code import triton
from tclab.explain import hip
from tclab.model import Version
from tclab.targets import TARGETS, Target, TargetError
from tclab.workshop.verify.attention import check, replay


@pytest.mark.parametrize(
    ("name", "found", "arch"),
    [("h200", "h200", 90), ("NVIDIA A100", "a100", 80), ("sm_90", "sm_90", 90),
     ("sm90a", "sm_90", 90), ("8.9", "sm_89", 89), ("RTX 4090", "rtx4090", 89),
     ("sm_103a", "sm_103", 103), ("12.1", "sm_121", 121), ("Jetson Thor", "thor", 110),
     ("NVIDIA RTX A6000", "a6000", 86), ("Tesla V100-SXM2-16GB", "v100", 70)],
)  # fmt: skip
def test_names(name: str, found: str, arch: int) -> None:
    target = targets.get(name)
    assert (target.name, target.arch) == (found, arch)
    assert targets.get(target) is target


@pytest.mark.parametrize(
    ("name", "near"),
    [("h2000", "h200"), ("a10O", "a10"), ("sm_91", "sm_90"), ("4070", "rtx4070"),
     ("3090", "rtx3090"), ("5090", "rtx5090"), ("a100pcie", "a100"), ("b100", "b200"),
     ("GeForce RTX 4070 Ti", "rtx4070")],
)  # fmt: skip
def test_an_unknown_name_suggests_the_nearest(name: str, near: str) -> None:
    with pytest.raises(TargetError, match=rf"did you mean [^?]*\b{near}( or|\?)") as error:
        targets.get(name)
    assert name in str(error.value)
    assert "run tclab target-file on a machine that has it" in error.value.next_step


def test_a_bare_capability_says_whose_numbers_it_has() -> None:
    assert "H100" in targets.get("sm_90").note


def test_every_target_has_a_source_and_sane_numbers() -> None:
    for target in targets.TARGETS.values():
        assert target.source
        assert 10 < target.sm_count < 200
        assert target.architecture.shared_memory_per_block_optin >= 2**16
        assert target.facts()["device"] == target.device


@cache
def answered() -> set[tuple[int, int]]:
    """The capabilities for which PyTorch's own answers on attention were kept."""
    return {column.capability for column in replay.read().columns}


def lacks(target: Target) -> Iterator[str]:
    """What a target needs beside its entry, and has not (the guide says how to add one)."""
    capability = ".".join(map(str, target.capability))
    if f"sm_{target.arch}" not in targets.names():
        yield f"sm_{target.arch} in CAPABILITY_DEVICES of targets/devices.py"
    if capability not in check.CAPABILITIES:
        yield f"{capability} in CAPABILITIES of verify/attention/check.py"
    if target.capability not in answered():
        yield f"answers for {capability} in verify/attention/answers.txt"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_target_is_complete(target: Target) -> None:
    assert targets.get(target.name) is target, "small letters and digits alone make a name"
    assert not list(lacks(target))


def test_what_a_new_target_lacks_is_named() -> None:
    newer = replace(TARGETS["h100"].architecture, capability=(13, 0))
    missing = list(lacks(replace(TARGETS["h100"], name="x100", architecture=newer)))
    assert [line.partition(" in ")[2] for line in missing] == [
        *("CAPABILITY_DEVICES of targets/devices.py", "CAPABILITIES of verify/attention/check.py"),
        "verify/attention/answers.txt",
    ]


#: One target of each capability.
ARCHITECTURES = {target.capability: target for target in TARGETS.values()}


@pytest.mark.parametrize("target", ARCHITECTURES.values(), ids=lambda target: f"sm_{target.arch}")
def test_a_product_goes_down_to_sass_or_the_target_is_refused_by_name(
    target: Target, user_kernel: Any
) -> None:
    x = torch.randn(32, 32, dtype=torch.float16)
    if target.arch in triton.known_architectures():
        c = tclab.capture(user_kernel.product, target=target.name)(x, x)
        (kernel,) = c.compile_kernels()
        assert f"sm_{target.arch}" in kernel.stages["ptx"].code
        assert re.search(r"\b(FFMA|HMMA|HGMMA|UTCHMMA)\b", kernel.stages["sass"].code)
        assert kernel.resources.occupancy
    else:
        with pytest.raises(TargetError, match=rf"{target.name}.*knows no sm_{target.arch}"):
            tclab.capture(user_kernel.product, target=target.name)(x, x)


def test_what_tritons_tools_know() -> None:
    """nvdisasm lost Volta and got 10.3, 11.0 and 12.1 from Triton 3.6 to 3.7."""
    later = Version.parse(metadata.version("triton")) >= Version.parse("3.7")
    assert {70, 103, 110, 121} & triton.known_architectures() == (
        {103, 110, 121} if later else {70}
    )


def test_the_refusal_says_which_pytorch_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "known_architectures", lambda: frozenset({80, 90}))
    for name, which in (("t4", "an earlier"), ("b200", "a later")):
        with pytest.raises(TargetError, match=f"use {which} PyTorch"):
            triton.check_target(TARGETS[name])
    triton.check_target(TARGETS["h200"])


@pytest.mark.parametrize("name", ["mi300x", "AMD Instinct MI300X", "gfx942"])
def test_amd_is_taken_only_unverified(name: str) -> None:
    with pytest.raises(TargetError, match=r"(?s)no AMD device was compared.*--unverified"):
        targets.get(name)
    target = targets.get(name, unverified=True)
    assert (target.name, target.gfx) == ("mi300x", "gfx942")
    assert "no AMD device was compared" in target.title == target.facts()["device"]


def test_an_unknown_gpu_of_amds_names_the_known_ones() -> None:
    with pytest.raises(TargetError, match="mi300x, mi325x"):
        targets.get("mi100", unverified=True)


def test_a_process_that_has_imported_inductor_compiles_for_no_amd_gpu() -> None:
    import torch._inductor.config

    target = targets.get("mi300x", unverified=True)
    with pytest.raises(TargetError, match="Inductor is imported already"):
        hip.prepare_process(target)
    with pytest.raises(TargetError, match=r"for another vendor here: torch\.version\.hip is None"):
        tclab.capture(lambda x: x + 1, target=target)(torch.ones(4))
    assert torch.version.hip is None
