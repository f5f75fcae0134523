"""What stands beside a kernel of a chain: why it is one, its bytes, the assembler's figures."""

from __future__ import annotations

import pytest
import torch

import tclab


def softmax(x):
    return torch.softmax(torch.relu(x), -1)


def siblings(x):
    return x.sum(0), x.sum(1)


@pytest.fixture(scope="module")
def kernel():
    x = torch.randn(128, 512)
    (chain,) = tclab.capture(softmax, target="h200")(x).chains()
    (found,) = (pane for pane in chain.panes if pane.stage == "kernel")
    return found


def test_bytes_are_each_buffer_read_or_written_once(kernel):
    assert kernel.facts["bytes moved"] == f"{2 * 128 * 512 * 4:,}"  # x in, the result out


def test_fused_names_the_nodes_and_what_they_share(kernel):
    ops, _, shared = kernel.facts["fused"].partition(", which share ")
    assert ops == "op0, op1, op2"
    assert "arg0_1 (op0, op1, op2)" in shared  # all three read x


def test_the_assembler_s_figures_stand_with_it(kernel):
    assert int(kernel.facts["registers per thread"]) > 0
    assert kernel.facts["spilled bytes"] == "0"
    assert int(kernel.facts["instructions"].replace(",", "")) > 50


def test_what_did_not_fuse_says_why():
    (chain,) = tclab.capture(siblings, target="h200")(torch.randn(256, 512)).chains()
    kernels = [pane for pane in chain.panes if pane.stage == "kernel"]
    told = {pane.facts["fused"].removesuffix(" alone"): pane.facts["not fused"] for pane in kernels}
    assert len(told) > 1
    for op, refusals in told.items():
        for refusal in refusals.split("; op"):
            pair, _, why = refusal.partition(": ")
            assert op.removeprefix("op") in pair.replace("op", "").split(" with ")
            assert why


def test_occupancy_is_what_the_kernel_s_own_figures_give(kernel):
    from tclab import targets
    from tclab.capturing.machine_code.occupancy import occupancy

    warps = int(kernel.facts["config"].partition("num_warps=")[2].split(",")[0])
    held = occupancy(
        targets.get("h200").architecture,
        threads=32 * warps,
        registers=int(kernel.facts["registers per thread"]),
        shared=int(kernel.facts["shared memory bytes"]),
    )
    assert kernel.facts["occupancy"] == str(held)
    assert int(kernel.facts["shared memory bytes"]) < 1024  # not what the system keeps
