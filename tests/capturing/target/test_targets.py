from __future__ import annotations

import pytest

from tclab import targets
from tclab.targets import TargetError


@pytest.mark.parametrize(
    ("name", "found", "arch"),
    [("h200", "h200", 90), ("NVIDIA A100", "a100", 80), ("sm_90", "sm_90", 90),
     ("sm90a", "sm_90", 90), ("8.9", "sm_89", 89), ("RTX 4090", "rtx4090", 89)],
)  # fmt: skip
def test_names(name: str, found: str, arch: int) -> None:
    target = targets.get(name)
    assert (target.name, target.arch) == (found, arch)
    assert targets.get(target) is target


@pytest.mark.parametrize(("name", "near"), [("h20", "h200"), ("a10O", "a100"), ("sm_91", "sm_9")])
def test_an_unknown_name_suggests_the_nearest(name: str, near: str) -> None:
    with pytest.raises(TargetError, match=near) as error:
        targets.get(name)
    assert name in str(error.value)


def test_a_bare_capability_says_whose_numbers_it_has() -> None:
    assert "H100" in targets.get("sm_90").note


def test_every_target_has_a_source_and_sane_numbers() -> None:
    for target in targets.TARGETS.values():
        assert target.source
        assert 10 < target.sm_count < 200
        assert target.architecture.shared_memory_per_block_optin >= 2**16
        assert target.facts()["device"] == target.device
