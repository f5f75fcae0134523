"""A copy of what calls start from shares nothing with it, and stands in its place for a block."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tclab.capturing.agreement import values
from tclab.capturing.agreement.setups import Setup

SEEN = [torch.zeros(2)]
steps = 0


def count(x: torch.Tensor) -> torch.Tensor:
    global steps
    steps += 1
    SEEN.append(x)
    SEEN[0].add_(x)
    return SEEN[0] * steps


def test_tensors_that_share_a_storage_share_one_in_the_copy() -> None:
    whole = torch.arange(12.0).view(3, 4)
    row, column = whole[1], whole[:, 2]
    copy, of_row, of_column = values.deep_copy((whole, row, column))
    of_row.fill_(7)
    assert copy[1].tolist() == [7.0] * 4
    assert of_column.tolist() == [2.0, 7.0, 10.0]
    assert of_column.stride() == column.stride()
    assert whole[1].tolist() == [4.0, 5.0, 6.0, 7.0]


def test_a_tied_weight_stays_tied_and_keeps_its_gradient() -> None:
    net = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    net[1].weight = net[0].weight
    net[0].weight.grad = torch.ones(3, 3)
    copy = values.deep_copy(net)
    assert copy[0].weight is copy[1].weight
    assert copy[0].weight.data_ptr() != net[0].weight.data_ptr()
    assert torch.equal(copy[0].weight.grad, torch.ones(3, 3))


def test_a_tensor_that_is_no_leaf_is_copied_and_requires_grad() -> None:
    x = torch.ones(3, requires_grad=True) * 2
    copy = values.deep_copy([x])[0]
    assert copy.requires_grad
    assert copy.is_leaf
    assert copy.tolist() == [2.0] * 3


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_sparse_tensor_is_copied_and_converted(layout: torch.layout) -> None:
    sparse = torch.eye(3).to_sparse(layout=layout).requires_grad_()
    copied, converted = values.deep_copy(sparse), values.deep_copy(sparse, lambda x: x.double())
    assert (copied.layout, copied.requires_grad, copied.dtype) == (layout, True, torch.float32)
    assert copied is not sparse and torch.equal(copied.to_dense(), torch.eye(3))
    assert converted.dtype == torch.float64 and torch.equal(
        converted.to_dense(), torch.eye(3).double()
    )


def test_a_conversion_changes_floating_point_tensors_only() -> None:
    pair = torch.ones(2, dtype=torch.bfloat16), torch.tensor([1, 2])
    copy = values.deep_copy(pair, lambda tensor: tensor.double())
    assert [each.dtype for each in copy] == [torch.float64, torch.int64]


def test_variables_are_replaced_for_the_block_and_are_as_before_after_it() -> None:
    setup = Setup.from_function(count, [((torch.ones(2),), {})]).copy()
    before = list(SEEN), SEEN[0].clone(), steps
    with setup.applied():
        result = count(*setup.calls[0][0])
    assert result.tolist() == [1.0, 1.0]
    assert (len(SEEN), steps) == (len(before[0]), before[2])
    assert torch.equal(SEEN[0], before[1])
    assert dict(setup.state())["the variable steps"] == 1


def test_variables_of_a_closure_are_copied() -> None:
    kept = torch.zeros(2)

    def add(x: torch.Tensor) -> torch.Tensor:
        return kept.add_(x)

    setup = Setup.from_function(add, [((torch.ones(2),), {})]).copy()
    with setup.applied():
        add(*setup.calls[0][0])
    assert kept.tolist() == [0.0, 0.0]
    assert dict(setup.state())["the variable kept"].tolist() == [1.0, 1.0]


def test_state_is_named_as_a_reader_names_it() -> None:
    net = nn.BatchNorm1d(2)
    names = [name for name, _ in Setup.from_function(net, [((torch.ones(3, 2),), {})]).state()]
    assert {"the argument input", "running_mean", "weight"} <= set(names)
