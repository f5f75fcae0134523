"""The page of a job: what is alike stands once, with its number; what is long is folded."""

from __future__ import annotations

import pytest

from tclab.findings.jobs import find_in_job
from tclab.jobs.caches import explain_misses
from tclab.jobs.names import shorten_names
from tclab.jobs.process import ReadProcess
from tclab.model import (
    Break,
    Breaks,
    CacheLookup,
    CompileTime,
    Job,
    JobCompile,
    JobProcess,
    KeyPart,
    Phase,
    Recompile,
    Recompiles,
    SourceLine,
)
from tclab.render.job import page, tables

#: How PyTorch begins the name of a trace.
LOG = "dedicated_log_torch_trace_"


def layer(number: int) -> SourceLine:
    return SourceLine("net.py", number, "if y.sum().item() > 0:", f"layer_{number}")


def of_layers(number: int) -> JobProcess:
    """A process with so many layers that break alike and are compiled again alike."""
    lines = [layer(each) for each in range(1, number + 1)]
    stop = "Tensor.item()"
    breaks = tuple(
        Break(stop, "GB0124", stop, f'Computed at:\n    # File "{each.file}", line {each.line}',
              location=each, stack=(each,))
        for each in lines
    )  # fmt: skip
    again = (Recompile(f"{each.line}/1", each.function, ("n == 3",), each) for each in lines)
    compiles = (
        JobCompile(f"{each.line}/{n}", each.function, each, seconds=1.0)
        for each in lines for n in (0, 1)
    )  # fmt: skip
    return JobProcess(
        "run",
        compiles=tuple(compiles),
        breaks=Breaks("", "", breaks),
        recompiles=Recompiles("", "", tuple(again)),
    )


@pytest.mark.parametrize("number", [1, 150])
def test_equal_layers_have_one_finding(number: int) -> None:
    job = Job("run", (of_layers(number),))
    found = {each.name: each for each in find_in_job(job)}
    assert len(find_in_job(job)) == len(found)
    assert [len(found[name].places) for name in ("graph-break", "recompile")] == [number] * 2
    assert found["graph-break"].cost.amount == number
    assert found["recompile"].cost.seconds == pytest.approx(number)
    several = f"{number} functions compiled again: n == 3"
    what = several if number > 1 else "layer_1 compiled again (1/1): n == 3"
    assert found["recompile"].what == what


def test_a_kind_of_break_is_drawn_once() -> None:
    process = of_layers(150)
    job = Job("run", (process,), findings=find_in_job(Job("run", (process,))))
    drawn = page.html(job)
    assert drawn.count('class="tclab-break"') == 1
    assert "150 graph breaks of 1 kind." in drawn and "At 150 lines" in drawn
    assert "and 146 more lines" in drawn
    assert "288 more compiles" in drawn
    assert drawn.count("<td>net.py:150</td>") >= 1  # none is left out
    assert "net.py:1 and 149 more lines" in page.text(job)


def test_columns_that_say_nothing_are_left_out() -> None:
    (one, two) = of_layers(1), of_layers(1)
    assert "processes" not in tables.compiles([one], own=True).columns
    assert "ended by" not in tables.compiles([one], own=True).columns
    assert "processes" in tables.compiles([one, two], own=True).columns
    assert tables.compiles([], own=True).rows == ()


def timed(rank: int) -> JobProcess:
    phases = (Phase("Dynamo", 1, 0.1 * rank), Phase("Inductor", 1, 1.0 + rank))
    return JobProcess(f"rank{rank}", rank, compile_time=CompileTime(phases=phases))


def test_many_processes_have_two_columns() -> None:
    assert tables.phases([timed(0)]).rows == (("Inductor", 1.0), ("Dynamo", 0.0))
    assert tables.phases([timed(rank) for rank in range(3)]).columns[1:] == (
        "rank 0", "rank 1", "rank 2",
    )  # fmt: skip
    many = tables.phases([timed(rank) for rank in range(512)])
    assert many.columns == ("phase", "in the fastest", "in the slowest")
    assert many.rows[0] == ("Inductor", 1.0, 512.0)


def test_many_remarks_are_folded() -> None:
    remarks = tuple(f"{n}.txt: neither a trace nor a profile" for n in range(40))
    job = Job("run", (of_layers(1),), remarks=remarks)
    assert "40 remarks" in page.html(job) and "39.txt" in page.html(job)
    assert "39.txt" not in page.text(job) and "and 28 more remarks" in page.text(job)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([f"{LOG}ab1.log"], ["ab1"]),
        ([f"a/{LOG}ab1.log", f"b/{LOG}cd2.log.gz"], ["a", "b"]),
        ([f"a/{LOG}rank_0_ab1.log", f"a/{LOG}rank_1_cd2.log"],
         ["a/rank_0_ab1", "a/rank_1_cd2"]),
        (["own.log", "own.log"], ["own.log", "own.log"]),
        (["x.log", f"{LOG}x.log"], ["x.log", "x"]),
    ],
)  # fmt: skip
def test_names_are_short_and_differ(names: list[str], short: list[str]) -> None:
    found = shorten_names([ReadProcess(JobProcess(name), ()) for name in names])
    assert [each.process.name for each in found] == short


def test_an_address_is_no_difference_of_a_key() -> None:
    """The digest is the key's; the value beside it names an object of its process."""
    before, after = (
        {"gm": ("g", "<graph>"), "fn": ("d", f"<function f at 0x7fcb104cbec{n}>"), "x": (n, n)}
        for n in "01"
    )
    lookup = CacheLookup("0/0", "Inductor", "miss")
    processes = [
        ReadProcess(JobProcess(name, lookups=(lookup,)), (parts,))
        for name, parts in (("a", before), ("b", after))
    ]
    (found,) = explain_misses(processes)[1].lookups
    assert found.beside == "a" and found.changed == (KeyPart("x", "0", "1"),)


def miss(ident: str, beside: str) -> CacheLookup:
    changed = (KeyPart("inductor_config[x]", "True", "False"),)
    return CacheLookup(ident, "Inductor", "miss", beside=beside, changed=changed)


def test_a_miss_costs_what_its_own_process_spent() -> None:
    """Each process has its own compiles of these ids; they ran at the same time."""
    short = JobCompile("0/0", seconds=9.0, backend=2.0)
    first = JobProcess("b", compiles=(short,), lookups=(miss("0/0", "a"),))
    long = JobCompile("1/0", seconds=9.0, backend=3.0)
    second = JobProcess("c", compiles=(short, long), lookups=(miss("1/0", "a"),))
    (found,) = (
        each for each in find_in_job(Job("run", (first, second))) if each.name == "cache-miss"
    )
    assert found.what.startswith("b; c missed what a has")
    assert found.cost.seconds == 3.0


@pytest.mark.parametrize(
    ("states", "advised"),
    [(["miss"], True), (["miss", "hit"], False), (["bypass"], False), ([], False)],
)
def test_a_cache_is_advised_where_it_only_missed(states: list[str], advised: bool) -> None:
    lookups = tuple(CacheLookup("0/0", "Inductor", state) for state in states)
    process = JobProcess("run", compiles=(JobCompile("0/0", seconds=60.0),), lookups=lookups)
    (found,) = find_in_job(Job("run", (process,)))
    assert found.what == "the job compiled for 60 s"
    assert bool(found.actions) is advised
