"""Snapshots of captures that were logged by five versions of PyTorch."""

from __future__ import annotations

import pytest

from tclab.capturing import Capture
from tclab.compare import compare_snapshots, take_snapshot
from tclab.compare.changes import Code
from tclab.model import Provenance, Snapshot
from tests.samples import replay

CASES = ("product", "training", "both_ways", "breaks", "recompile")


def snapshot(version: str, case: str) -> Snapshot:
    with replay.replayed(version, case) as trace:
        here = Provenance(version, "", "", "", "", "")
        return take_snapshot(Capture(trace), here, case)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", replay.VERSIONS)
def test_a_snapshot_is_the_same_each_time_and_comes_back_from_json(version, case):
    first = snapshot(version, case)
    assert compare_snapshots(first, snapshot(version, case)).same
    assert Snapshot.from_json(first.to_json()) == first


def test_what_a_product_was():
    was = snapshot("2.13", "product")
    (kernel,) = was.kernels
    assert (kernel.category, kernel.operators) == (
        "persistent_reduction",
        ("aten.relu", "aten.sum"),
    )
    assert was.library_calls == {"extern_kernels.mm": 1}
    assert was.planned_bytes == (64 * 64 + 64) * 4  # the product, and the sums of its rows
    assert {graph.stage for graph in was.graphs} == {"dynamo", "forward", "post_grad"}


def test_a_cpp_kernel_has_the_operators_of_its_nodes():
    titles = {k.title for k in snapshot("2.13", "training").kernels if k.language == "cpp"}
    assert titles
    assert all(title.startswith("C++ aten.") for title in titles), titles


def test_breaks_have_a_line_and_no_number():
    breaks = snapshot("2.15", "breaks").breaks
    assert {each.line for each in breaks} >= {'print("break")'}
    assert all(each.what and each.file == "functions.py" for each in breaks)


def test_recompiles_have_guards_without_the_number_of_a_compile():
    (recompile, *_) = snapshot("2.15", "recompile").recompiles
    assert recompile.guards and not any(guard[0].isdigit() for guard in recompile.guards)


LEVELS = {  # what the kernel of the product came to be from one version to the next
    ("2.11", "2.12"): {"same body": 1},
    ("2.12", "2.13"): {"differs": 1},  # loads got an eviction policy
    ("2.13", "2.14"): {"same but for a known rewriting": 1},
    ("2.14", "2.15"): {"same body": 1},
}


@pytest.mark.parametrize(("old", "new"), LEVELS)
def test_each_version_against_the_next(old, new):
    compared = compare_snapshots(snapshot(old, "product"), snapshot(new, "product"))
    assert compared.levels == LEVELS[old, new]
    assert compared.same == ("differs" not in compared.levels)
    if not compared.same:
        (change,) = compared.changes
        assert isinstance(change.before, Code) and isinstance(change.after, Code)
        assert "evict_first" in change.after.text and "evict_first" not in change.before.text


def test_json_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="not a snapshot of the format"):
        Snapshot.from_json('{"format": "tclab snapshot 0"}')
    with pytest.raises(ValueError, match="not a snapshot"):
        Snapshot.from_json("[1]")
