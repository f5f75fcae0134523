"""Which runs of a snippet a page shows, and of which one its numbers are."""

from __future__ import annotations

import pytest

from tclab.model import Provenance, Run
from tclab.site.pages import run_groups

H200, H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"


def made(gpu: str = "", torch: str = "2.13.0+cpu", environment: str = "here") -> Run:
    machine = Provenance(torch, "", "3.12", "a CPU", "Linux", "2026-11-25", gpu=gpu)
    return Run("t/x", environment, "", machine, 1.0, 1)


CPU_LIVE = made()
H200_LIVE = made(H200, "2.11.0+cu130")
H200_LIVE_LATER = made(H200, "2.13.0+cu130")
H100_LIVE = made(H100, "2.11.0+cu130")
CPU_RECORDED = made(torch="2.12.0+cpu", environment="cpu-torch2.12")
H200_RECORDED = made(H200, "2.11.0+cu130", "h200-torch2.11")


@pytest.mark.parametrize(
    ("live", "recorded", "in_order"),
    [
        (None, (H200_RECORDED,), (H200_RECORDED,)),
        (CPU_LIVE, (), (CPU_LIVE,)),
        (CPU_LIVE, (CPU_RECORDED,), (CPU_LIVE, CPU_RECORDED)),
        (CPU_LIVE, (CPU_RECORDED, H200_RECORDED), (CPU_LIVE, CPU_RECORDED, H200_RECORDED)),
        (H200_LIVE, (H200_RECORDED,), (H200_LIVE,)),
        (H200_LIVE_LATER, (H200_RECORDED,), (H200_LIVE_LATER, H200_RECORDED)),
        (H100_LIVE, (), (H100_LIVE,)),
        (H100_LIVE, (CPU_RECORDED,), (H100_LIVE, CPU_RECORDED)),
        (H100_LIVE, (H200_RECORDED,), (H200_RECORDED, H100_LIVE)),
    ],
)
def test_the_live_run_is_first_but_not_where_it_is_of_another_gpu(live, recorded, in_order) -> None:
    assert run_groups.order_runs(live, recorded) == in_order
