"""Known faults: each entry fits its own sample and not its near miss; a file more is an entry."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tclab import advisories
from tclab.advisories import Advisory
from tclab.model import GraphCounts, KernelIdentity, Snapshot
from tests.compare.test_causes import kernel

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = {path.name.removesuffix(".json"): path for path in advisories.ENTRIES_FOLDER.iterdir()}
#: A version in which each entry is a fault, and one in which it is none.
VERSIONS = {
    "random_numbers_that_repeat": ("2.14.0", "2.15.0"),
    "multiplied_range_on_a_gpu": ("2.15.0", "2.11.0"),
    "multiplied_range_on_a_cpu": ("2.11.0", "2.10.0"),
    "gradient_read_too_early": ("2.13.0", "2.15.0"),
}


def entry(name: str) -> Advisory:
    return advisories._read_entry(ENTRIES[name])


def compile_of(each: Advisory, lines: tuple[str, ...], torch: str) -> Snapshot:
    """Return a compile with these lines as one kernel, or as the operators of one graph."""
    body = "" if each.stage else "\n".join(lines)
    one: KernelIdentity = replace(kernel(body), language=each.language)
    graph = GraphCounts(each.stage, dict.fromkeys(lines, 1))
    return Snapshot(torch=torch, kernels=(one,), graphs=(graph,) if each.stage else ())


def test_every_entry_has_versions_here() -> None:
    assert set(VERSIONS) == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_fits_its_sample_and_not_its_near_miss(name: str) -> None:
    each, (affected, _) = entry(name), VERSIONS[name]
    (advice,) = advisories.find(compile_of(each, each.sample, affected))
    assert (advice.title, advice.workaround) == (each.title, each.workaround) and advice.places
    assert advisories.find(compile_of(each, each.near_miss, affected)) == ()


@pytest.mark.parametrize("name", ENTRIES)
def test_of_another_version_nothing_is_said(name: str) -> None:
    each, (_, other) = entry(name), VERSIONS[name]
    assert advisories.find(compile_of(each, each.sample, other)) == ()


@pytest.mark.parametrize("name", ENTRIES)
def test_kernels_of_another_language_have_it_not(name: str) -> None:
    each, (affected, _) = entry(name), VERSIONS[name]
    other = compile_of(each, each.sample, affected)
    language = {"python": "cpp", "cpp": "python"}[each.language]
    assert not advisories.find(
        replace(other, kernels=(replace(other.kernels[0], language=language),))
    )


@pytest.mark.parametrize("name", ENTRIES)
def test_what_would_fit_is_not_looked_for_in_another_stage(name: str) -> None:
    """Nor in a kernel's body where a graph is meant, and the other way round."""
    each, (affected, _) = entry(name), VERSIONS[name]
    for stage in {"", "joint", "forward", "backward"} - {each.stage}:
        elsewhere = compile_of(replace(each, stage=stage), each.sample, affected)
        assert advisories.find(elsewhere) == (), stage


@pytest.mark.parametrize("name", ENTRIES)
def test_the_snippet_that_checks_it_is_there(name: str) -> None:
    assert (ROOT / "snippets" / f"{entry(name).snippet}.py").is_file()


def test_one_file_is_one_entry_and_wrong_results_come_first(tmp_path: Path) -> None:
    made = asdict(entry("multiplied_range_on_a_cpu")) | {"title": "slow", "patterns": ["slow_call"]}
    (tmp_path / "a.json").write_text(json.dumps(made | {"harm": "a slower result"}))
    (tmp_path / "b.json").write_text(ENTRIES["multiplied_range_on_a_cpu"].read_text())
    wrong, slow = entries = advisories.load(tmp_path)
    assert (wrong.harm, slow.title) == ("a wrong result", "slow")
    was = compile_of(slow, ("slow_call();",), "2.13.0")
    assert [advice.title for advice in advisories.find(was, entries)] == ["slow"]
    assert advisories.find(was) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [({"harm": "bad"}, "the harm is one of"), ({"versions": "2.13"}, "cannot read the clause"),
     ({"certain": "yes"}, "true or false"), ({"more": 1}, "unknown fields")],
)  # fmt: skip
def test_an_entry_that_is_wrong_is_named(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    data = json.loads(ENTRIES["multiplied_range_on_a_cpu"].read_text())
    (tmp_path / "mine.json").write_text(json.dumps(data | change))
    with pytest.raises((ValueError, TypeError), match=r"mine\.json: ") as caught:
        advisories.load(tmp_path)
    assert said in str(caught.value)
