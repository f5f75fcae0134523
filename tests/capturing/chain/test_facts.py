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
    assert kernel.facts.moved == (2 * 128 * 512 * 4,)  # x in, the result out


def test_fused_names_the_nodes_and_what_they_share(kernel):
    (group,) = kernel.facts.fused
    assert group.ops == ("op0", "op1", "op2")
    assert group.shared["arg0_1"] == group.ops  # all three read x


def test_the_assembler_s_figures_stand_with_it(kernel):
    assert kernel.facts.resources.registers > 0
    assert kernel.facts.resources.spilled == 0
    assert kernel.facts.instructions > 50


def test_what_did_not_fuse_says_why():
    (chain,) = tclab.capture(siblings, target="h200")(torch.randn(256, 512)).chains()
    kernels = [pane for pane in chain.panes if pane.stage == "kernel"]
    refused = {pane.facts.fused[0].ops: pane.facts.not_fused for pane in kernels}
    assert len(refused) > 1 and all(refused.values())
    for (op,), pairs in refused.items():
        for pair in pairs:
            assert op in (*pair.first, *pair.second)
            assert pair.reason


def test_occupancy_is_what_the_kernel_s_own_figures_give(kernel):
    from tclab import targets
    from tclab.capturing.machine_code.occupancy import compute_occupancy

    resources = kernel.facts.resources
    assert resources.occupancy == compute_occupancy(
        targets.get("h200").architecture,
        threads=32 * kernel.facts.configuration.config.num_warps,
        registers=resources.registers,
        shared=resources.shared,
    )
    assert resources.shared < 1024  # not what the system keeps
