"""Records of versions: what is written is what is read, and what a step between two says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.model import (
    Artifact,
    BreakIdentity,
    Claim,
    Failure,
    GraphCounts,
    KernelIdentity,
    Provenance,
    Run,
    Snapshot,
    Table,
)
from tclab.site.versions import claims, records, tables
from tclab.site.versions.records import FAILED, FALSE, HELD, NOT_REACHED, Compile, VersionRecord
from tclab.site.versions.step import Step

BODY = "def kernel(ptr_0, xnumel, XBLOCK):\n    tl.store(ptr_0 + 0, {}, None)"
OLD_RANDOM = BODY.format("tl.rand(tmp_0, 1)")
RANDOM = BODY.format("triton_helpers.rand4x(tmp_0, 1, XBLOCK)")


def kernel(body: str, **other: object) -> KernelIdentity:
    text = hashlib.sha256(body.encode()).hexdigest()[:16]
    made = KernelIdentity(("aten.add",), "pointwise", "forward", "python", text, body)
    return replace(made, **other)


def compiled(name: str, *bodies: str, target: str = "h200", **other: object) -> Compile:
    kernels = tuple(map(kernel, bodies))
    made = Snapshot(title=name, target=target, kernels=kernels, **other)
    return Compile("functions", name, target, made)


def record(torch: str, *compiles: Compile, **other: object) -> VersionRecord:
    machine = Provenance(torch, "abc", "3.11", "a CPU", "Linux", "2026-11-23")
    return VersionRecord(machine, compiles=compiles, **other)


def step(old: list[Compile], new: list[Compile]) -> Step:
    return Step(record("2.13.0", *old), record("2.14.0", *new))


# ------------------------------------------------------------------------- read and written


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    graphs = (GraphCounts("forward", {"aten.add": 2}),)
    whole = record(
        "2.13.0+cpu",
        compiled("a/x", RANDOM, RANDOM, graphs=graphs, planned_bytes=0, skipped_graphs=("cpu",)),
        compiled("a/x", RANDOM, target="a100", planned_bytes=None, library_calls={"mm": 2}),
        Compile("models", "b/y", "h200", failure="RuntimeError: no", packages="timm 1.0.31"),
        claims={"dynamo/x": {"it-holds": HELD, "it-does-not": FALSE}},
        verdicts={"A `print` breaks": "holds"},
    )
    path = tmp_path / "versions" / "torch2.13.json"
    records.write(path, whole)
    read = records.read(path)
    assert read == replace(whole, compiles=tuple(sorted(whole.compiles, key=lambda e: e.key)))
    assert read.compiles[1].snapshot.planned_bytes == 0
    assert read.release == "2.13"


def test_a_body_stands_once_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "torch2.13.json"
    records.write(path, record("2.13.0", compiled("a/x", RANDOM, RANDOM), compiled("a/y", RANDOM)))
    assert path.read_text(encoding="utf-8").count("rand4x") == 1


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "torch2.13.json"
    path.write_text('{"format": "tclab snapshot 1"}', encoding="utf-8")
    with pytest.raises(ValueError, match="format"):
        records.read(path)


def test_captures_are_found_below_their_corpus_and_target(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "h200"
    folder.mkdir(parents=True)
    (folder / "b-y.json").write_text(json.dumps({"name": "b/y", "failure": "no"}))
    assert list(records.read_compiles(tmp_path)) == [
        Compile("models", "b/y", "h200", failure="no")
    ]  # fmt: skip


# ----------------------------------------------------------------------------- what differs


def test_the_same_record_has_no_difference_from_itself() -> None:
    both = [compiled("a/x", RANDOM, planned_bytes=64)]
    same = step(both, both)
    assert not same.parts["functions", "h200"].causes
    assert not same.parts["functions", "h200"].possibly_different
    assert not tables.memory(same).rows and not tables.breaks(same).rows


def test_each_kernel_is_counted_once_by_why_it_differs() -> None:
    old = [compiled("a/x", RANDOM, BODY.format("tl.sin(tmp_0)")), compiled("a/y", RANDOM)]
    new = [compiled("a/x", OLD_RANDOM, BODY.format("tl.cos(tmp_0)")), compiled("a/y")]
    ((*_, kernels, same, known, fused, unknown),) = tables.levels(step(old, new)).rows
    assert (kernels, same, known, fused, unknown) == (3, 0, 1, 1, 1)
    ((*_, kernels, same, known, fused, unknown),) = tables.levels(step(old, old)).rows
    assert (kernels, same, known, fused, unknown) == (3, 3, 0, 0, 0)


def test_a_buffer_that_is_only_renamed_before_it_was_normalised_is_no_difference() -> None:
    other = replace(kernel(RANDOM), text="e" * 16)
    new = replace(compiled("a/x"), snapshot=Snapshot(title="a/x", target="h200", kernels=(other,)))
    assert not step([compiled("a/x", RANDOM)], [new]).parts["functions", "h200"].possibly_different


def test_random_numbers_come_before_a_maximum() -> None:
    maximum = BODY.format("triton_helpers.maximum(tmp_0, 1)")
    without = BODY.format("tl.maximum(tmp_0, 1, tl.PropagateNan.ALL)")
    both = step([compiled("a/x", OLD_RANDOM, maximum)], [compiled("a/x", RANDOM, without)])
    part = both.parts["functions", "h200"]
    assert [cause.form.numbers for cause in part.causes] == ["yes", "no"]
    assert part.causes[0].form.issue == "pytorch#198333"
    assert (part.differing, part.unnamed) == (2, 0)


def test_what_no_rule_knows_is_counted() -> None:
    planted = step([compiled("a/x", RANDOM)], [compiled("a/x", RANDOM.replace("store", "keep"))])
    part = planted.parts["functions", "h200"]
    assert (part.differing, part.unnamed, len(part.possibly_different)) == (1, 1, 1)


def test_what_compiles_under_one_only_is_named() -> None:
    failed = Compile("functions", "a/x", "h200", failure="RuntimeError: no")
    for sides in ([failed], [compiled("a/x", RANDOM)]), ([compiled("a/x", RANDOM)], [failed]):
        part = step(*sides).parts["functions", "h200"]
        assert [each.before.name for each in part.on_one_side] == ["a/x"]


def test_a_model_is_compared_with_that_of_the_same_packages_only() -> None:
    old, new = (replace(compiled("a/x", RANDOM), packages=f"timm 1.0.{n}") for n in (30, 31))
    assert len(step([old], [old]).pairs) == 1 and not step([old], [new]).pairs


def test_equal_rows_of_memory_are_one_and_what_grew_most_comes_first() -> None:
    old = [compiled(f"a/{name}", planned_bytes=100) for name in "xyz"]
    new = [compiled(f"a/{name}", planned_bytes=number)
           for name, number in (("x", 110), ("y", 300), ("z", 300))]  # fmt: skip
    assert [row[0] for row in tables.memory(step(old, new)).rows] == ["a/y, a/z", "a/x"]


def test_other_operators_are_told_but_not_dynamos_own_names() -> None:
    def graph(stage: str, name: str) -> Compile:
        return compiled("a/x", graphs=(GraphCounts(stage, {name: 1}),))

    (named,) = step([graph("dynamo", "add")], [graph("dynamo", "aten.add")]).pairs
    (other,) = step([graph("forward", "a")], [graph("forward", "b")]).pairs
    assert not named.other_operators and other.other_operators


def test_equal_breaks_are_one_row_with_their_number() -> None:
    breaks = (BreakIdentity("GB0001", "x.py", "f", "print(y)"),)
    old = [compiled("a/x"), compiled("a/y")]
    new = [compiled("a/x", breaks=breaks), compiled("a/y", breaks=breaks)]
    line = "GB0001 at print(y) in x.py"
    assert tables.breaks(step(old, new)).rows == ((2, line, "new"),)
    assert tables.breaks(step(new, old)).rows == ((2, line, "gone"),)


def test_what_one_record_lacks_is_not_compared() -> None:
    assert not step([compiled("a/x", RANDOM)], [compiled("a/y", RANDOM)]).pairs


# ------------------------------------------------------------------------------ of a run


def run(*own: Claim, failure: Failure | None = None, artifacts: tuple[Artifact, ...] = ()) -> Run:
    machine = record("2.13.0").machine
    return Run("a/x", "here", "", machine, 1.0, 1, artifacts, failure=failure, claims=own)


@pytest.mark.parametrize(
    ("reached", "held", "cause", "came"),
    [
        (1, True, "", HELD),
        (2, False, "assertion", FALSE),
        (0, False, "assertion", NOT_REACHED),
        (0, False, "", NOT_REACHED),
        (0, False, "timeout", FAILED),
        (1, True, "raised", HELD),
    ],
)
def test_what_came_of_a_claim(reached: int, held: bool, cause: str, came: str, snippet) -> None:
    claim = Claim("it", 3, "assert it", reached=reached, held=held)
    failure = Failure(cause, "") if cause else None
    assert claims.claim_outcomes(snippet, run(claim, failure=failure)) == {"it": came}


@pytest.fixture
def snippet(tmp_path: Path):
    from tclab.site import snippets

    path = tmp_path / "snippets" / "a" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text('"""X."""\nit = bool(input())\n# claim: it\nassert it\n', encoding="utf-8")
    return snippets.read(path, tmp_path)


def test_a_verdict_of_another_machine_is_not_of_this_version() -> None:
    rows = (("A", "holds", "", ""), ("B", "holds", "", "h200"))
    table = Table("T", "verdicts", ("belief", "verdict", "seen", "on"), rows)
    assert claims.belief_verdicts(run(artifacts=(table,))) == {"A": "holds"}
