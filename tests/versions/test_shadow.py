"""Snippets run as readers run them: what flips is found, and what does not is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tclab.model import Claim, Failure, Provenance, Run
from tclab.site.snippets import flips
from tclab.workshop.versions import shadow
from tests.lab import Lab, know_cpu

pytestmark = pytest.mark.snippet

#: Dynamo alone makes a float that changes an input; with Inductor each one is compiled.
COUNTED = """
import torch
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import counters

class Model(torch.nn.Module):
    n = 0.0

    def forward(self, x):
        self.n += 1
        return x + self.n

def call(backend):
    torch._dynamo.reset()
    compiled = torch.compile(Model(), backend=backend)
    for _ in range(3):
        compiled(torch.ones(2))

torch.compile(torch.sin, backend="eager")(torch.ones(2))
# claim: no-autograd-of-its-own
assert not counters["aot_autograd"]
call(counter := CompileCounter())
assert counter.frame_count == 2
# claim: two
assert counter.frame_count == 2
# claim: it-compiles
assert counter.frame_count > 1
ran = []
torch.compile(torch.sin, backend=lambda graph, _: ran.append(1) or graph.forward)(torch.ones(2))
# claim: a-backend-is-called
assert ran == [1]
"""
CACHED = """
import torch
from torch._dynamo.utils import compilation_time_metrics, counters

assert torch.compile(lambda x: x.sin() + 1)(torch.zeros(2)).sum() == 3  # false, and no claim
asked = counters["aot_autograd"]
# claim: missed
assert not asked["autograd_cache_hit"]
# claim: asked
assert asked["autograd_cache_hit"] + asked["autograd_cache_miss"] == 1
# claim: hashed
assert "inductor_codecache_torch_key" in compilation_time_metrics
"""
TIMED = """
# tclab: alone=true
import sys

# claim: cold
assert "torch._inductor.compile_fx" not in sys.modules
import torch
from torch._dynamo.utils import counters

torch.compile(lambda x: x.sin() + 2)(torch.zeros(2))
# claim: missed
assert not counters["aot_autograd"]["autograd_cache_hit"]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A project for both kinds of run, which share what PyTorch compiles once."""
    return Lab(tmp_path_factory.mktemp("shadow"))


def test_with_inductor_what_flips_is_found(lab: Lab) -> None:
    planted = [lab.write("t/counted", COUNTED), lab.write("t/other", "# claim: a\nassert __name__")]
    made = shadow.Shadow(flips.INDUCTOR, lab.root, lab.root / "shadow")
    assert [snippet.name for snippet in made.select(planted)] == ["t/counted"]
    know_cpu(made.store / "cache")
    runs = made.run(planted, 1)
    found = shadow.map_flips(runs["t/counted"])
    assert sorted(found) == ["t/counted#no-autograd-of-its-own", "t/counted#two"], runs
    assert made.run(planted, 1) == runs  # a second command runs nothing that ended, good or bad


def test_over_filled_caches_what_flips_is_found(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [lab.write("t/cached", CACHED), lab.write("t/timed", TIMED)]
    monkeypatch.setattr(shadow.schedule, "should_warm", lambda snippets: True)
    made = shadow.Shadow(flips.CACHES, lab.root, lab.root / "shadow")
    know_cpu(made.store / "cache")
    runs = made.run(planted, 1)
    assert list(shadow.map_flips(runs["t/cached"])) == ["t/cached#missed"], runs
    assert list(shadow.map_flips(runs["t/timed"])) == ["t/timed#missed"], runs


def run(*claims: Claim, failure: Failure | None = None) -> Run:
    here = Provenance("2.13.0", "abc", "3.11", "a CPU", "Linux", "2026-11-23")
    return Run("t/a", "here", "key", here, 1.0, 1, claims=claims, failure=failure)


def test_the_list_has_what_flips_and_nothing_else() -> None:
    held = Claim("held", 3, "assert 1", reached=1, held=True)
    false = Claim("false", 4, "assert n", reached=1, broken="n is 0")
    runs = {"t/a": run(held, false)}

    def lines(*listed: str) -> list[str]:
        reasons = dict.fromkeys(listed, "so it is")
        unknown = lambda name: name not in ("t/a", "t/gpu")  # noqa: E731
        return list(shadow.describe_differences(flips.CACHES, runs, reasons, unknown))

    (line,) = lines("t/gpu#one")
    assert line == "[caches] t/a#false flips, and shadow.json does not say why: n is 0"
    assert not lines("t/a#false")
    assert "t/a#held does not flip" in lines("t/a#false", "t/a#held")[0]
    assert "t/gone does not flip" in lines("t/a#false", "t/gone")[0]


def test_a_snippet_that_ends_early_flips_whole() -> None:
    failure = Failure("raised", "InductorError: no")
    found = shadow.map_flips(run(Claim("never-reached", 9, "assert 1"), failure=failure))
    assert found == {"t/a": "raised: InductorError: no"}
    ended = {"t/a": run(failure=failure)}
    listed = {"t/a": "no code of it", "t/a#one": "so it has to name its backend"}
    assert not list(shadow.describe_differences(flips.INDUCTOR, ended, listed, lambda name: False))


def test_the_projects_own_list_names_claims_that_are_there() -> None:
    from tclab.site import snippets

    root = Path(__file__).resolve().parents[2]
    known = {s.name: {claim.name for claim in s.claims} for s in snippets.find(root)}
    for listed in flips.read(root).by_kind.values():
        for name in listed:
            snippet, hash_, claim = name.partition("#")
            assert snippet in known and (claim in known[snippet] or not hash_), name
    assert json.loads((root / flips.FILE).read_text()).keys() == {flips.INDUCTOR, flips.CACHES}
