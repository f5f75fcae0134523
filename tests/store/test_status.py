"""Fresh, or what differs: said by one function, in words."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tclab.model import Provenance, Run, Snippet
from tclab.site.store import dependencies, keys
from tclab.site.store.local_runs import Store
from tclab.site.store.status import differences, source_differences

HERE = Provenance(
    torch="2.13.0+cpu",
    torch_git="0123456789abcdef",
    python="3.11",
    cpu="A CPU (avx2)",
    system="Linux x86_64",
    date="2026-01-01",
    triton="3.7.1",
    cores=2,
    variables={"TORCH_LOGS": "graph"},
)
SNIPPET = Snippet("t/x", Path("snippets/t/x.py"), "T.", "", '"""T."""\n')
PACKAGE = {"tclab/a.py": "1", "tclab/b.py": "2", "tclab/drawing.py": "3"}
RESTS = {"tclab/a.py": "1", "tclab/b.py": "2"}
RUN = Run("t/x", "here", keys.source_key(SNIPPET), HERE, 1.0, 1, rests_on=RESTS)


def why(
    here: Provenance = HERE, snippet: Snippet = SNIPPET, package: dict[str, str] = PACKAGE
) -> list[str]:
    return list(differences(RUN, snippet, here, package))


def test_the_same_is_fresh_on_any_day() -> None:
    assert why() == []
    assert why(replace(HERE, date="1999-01-01")) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"torch": "2.14.0+cpu", "torch_git": "f"}, "torch 2.13.0+cpu → 2.14.0+cpu"),
        ({"torch_git": "fedcba9876543210"}, "torch's commit 0123456 → fedcba9"),
        ({"triton": "3.8.0"}, "Triton 3.7.1 → 3.8.0"),
        ({"triton": ""}, "Triton 3.7.1 → none"),
        ({"compiler": "g++ 14 (1234)"}, "C++ compiler none → g++ 14 (1234)"),
        ({"python": "3.12"}, "Python 3.11 → 3.12"),
        ({"gpu": "NVIDIA H200"}, "GPU none → NVIDIA H200"),
        ({"cuda": "13.0"}, "CUDA none → 13.0"),
        ({"driver": "580"}, "driver none → 580"),
        ({"cpu": "Another"}, "CPU A CPU (avx2) → Another"),
        ({"system": "Darwin arm64"}, "system Linux x86_64 → Darwin arm64"),
        ({"cores": 4}, "cores 2 → 4"),
        ({"variables": {}}, "variable TORCH_LOGS no longer set"),
        ({"variables": {"TORCH_LOGS": "aot"}}, "variable TORCH_LOGS graph → aot"),
        (
            {"variables": {"TORCH_LOGS": "graph", "KMP_AFFINITY": "compact"}},
            "variable KMP_AFFINITY set to compact",
        ),
    ],
)
def test_each_difference_of_the_provenance_is_named(changed: dict, says: str) -> None:
    assert why(replace(HERE, **changed)) == [says]


def test_every_field_of_a_provenance_but_the_day_counts() -> None:
    assert {*keys.PROVENANCE, "date"} == {field.name for field in fields(Provenance)}


def test_code_that_changed_is_named(tmp_path: Path) -> None:
    assert why(package=PACKAGE | {"tclab/b.py": "other"}) == ["tclab/b.py changed"]
    assert why(package={"tclab/b.py": "2"}) == ["tclab/a.py changed"]
    assert why(package={}) == ["tclab/a.py and 1 more changed"]
    assert why(package=PACKAGE | {"tclab/drawing.py": "other", "tclab/new.py": "4"}) == []
    edited = replace(SNIPPET, source="x = 1")
    assert why(snippet=edited) == ["the snippet changed"]


def test_a_file_beside_the_snippet_that_changed_is_named(tmp_path: Path) -> None:
    path, shared = tmp_path / "snippets/t/x.py", tmp_path / "snippets/t/_shared.py"
    shared.parent.mkdir(parents=True)
    path.write_text(SNIPPET.source)
    shared.write_text("x = 1")
    snippet = replace(SNIPPET, path=path, includes=(shared,))
    began = time.time_ns() + 10**9
    rests_on = dependencies.dependency_digests(
        [shared], [], snippet, {"tclab/capturing/x.py": "1"}, began
    )
    run = replace(RUN, source_key=keys.source_key(snippet), rests_on=rests_on)
    assert set(run.rests_on) == {"snippets/t/_shared.py", "tclab/capturing/x.py"}
    recording = replace(run, environment="h200")
    shared.write_text("x = 2")
    assert source_differences(recording, snippet, {}) == ("snippets/t/_shared.py changed",)
    assert source_differences(replace(recording, rests_on={}), snippet, {}) == (
        "the snippet changed (or _shared.py)",
    )
    shared.unlink()
    assert source_differences(
        run, replace(snippet, includes=()), {"tclab/capturing/x.py": "1"}
    ) == ("snippets/t/_shared.py changed",)


def test_several_are_all_named() -> None:
    changed = replace(HERE, torch="2.14.0", cores=8)
    assert why(changed, replace(SNIPPET, source=""), PACKAGE | {"tclab/a.py": "other"}) == [
        "the snippet changed",
        "tclab/a.py changed",
        "torch 2.13.0+cpu → 2.14.0",
        "cores 2 → 8",
    ]


def test_a_store_says_how_a_run_stands(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.status(SNIPPET, HERE, PACKAGE).state == "never"
    store.save(RUN)
    fresh = store.status(SNIPPET, HERE, PACKAGE)
    assert (fresh.state, fresh.run()) == ("fresh", RUN)
    stale = store.status(SNIPPET, replace(HERE, cores=4), PACKAGE)
    assert (stale.state, stale.why, stale.run()) == ("stale", ("cores 2 → 4",), RUN)
    (store.folder("t/x") / "run.json").write_text("{}")
    damaged = store.status(SNIPPET, HERE, PACKAGE)
    assert (damaged.state, damaged.why) == ("stale", ("is not what was written",))


def test_a_run_of_the_format_before_is_stale_once(tmp_path: Path) -> None:
    """It does not say what it rests on."""
    assert list(differences(replace(RUN, rests_on={}), SNIPPET, HERE, PACKAGE)) == [
        "it was kept without the files that it rests on"
    ]
