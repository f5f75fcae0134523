"""Each rule on values for which it must make its finding, and on values for which it must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab import findings
from tclab.compare.fixes import END_THE_BREAKS, SIZES, Fix
from tclab.explain import unrolled_loops
from tclab.findings import Evidence
from tclab.findings.breaks import LIMIT
from tclab.findings.evidence import UnrolledLoop
from tclab.findings.jobs import find_in_job
from tclab.findings.recompiles import find_recompiles
from tclab.model import (
    DIFFERS,
    EACH_CALL,
    FINDING_KINDS,
    IDLE,
    NOT_KNOWN,
    ONCE,
    WRONG,
    Advice,
    Agreement,
    Break,
    Breaks,
    CacheLookup,
    CacheResult,
    CallCost,
    Checkpoints,
    CompileTime,
    Cost,
    DeviceKernel,
    DeviceProfile,
    Difference,
    Finding,
    Graph,
    Job,
    JobCompile,
    JobProcess,
    KernelRow,
    KeyPart,
    Measurement,
    ModeTimes,
    Node,
    OwnCompiles,
    Partition,
    PartitionedValue,
    PassProfile,
    Phase,
    Recompile,
    SourceLine,
    format_seconds,
    rank_findings,
)
from tclab.render.report import words
from tclab.text.scrub import scrub
from tests.findings import planted

LINE = SourceLine("m.py", 7, "y = x.sin()", "f")
START = SourceLine("m.py", 5, "", "f")
BREAK = Break("a reason", "GB0001", "Some type", hints=("Do this.",), location=LINE, stack=(LINE,))
LIMITED = replace(BREAK, gb_id=LIMIT, skipped=True, location=START)
AGAIN = Recompile("0/1", "f", ("0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9",),
                  START)  # fmt: skip
THIRD = Recompile("0/2", "f", ("0/1: n == 2",), START)
BOUND = replace(THIRD, reasons=("0/1: (x.size()[0] / 4) == 24.0  # asks, in f",))
TIMES = CompileTime((Phase("dynamo", 3, 6.0),), compiles=3)
COST = CallCost("NVIDIA H200", 30, 6, 2e-4, 6e-6, 5e-5, bound="launches", tf32=7e-6)
QUICK, SLOW = ModeTimes("eager", (1e-6,) * 11), ModeTimes("eager", (3e-6,) * 11)
COPY = KernelRow(
    "triton_poi_fused_clone_0", origins=("aten.permute", "aten.clone"), lines=(LINE,), bytes=900
)
WORK = KernelRow("triton_poi_fused_add_1", origins=("aten.add",), lines=(LINE,), bytes=1000)
UPCAST = KernelRow("extern_kernels.mm", "extern", rate="f32", lines=(LINE,), upcast="bf16")
BYPASS = CacheResult("0/0", "AOTAutograd", "bypass", "a higher-order operator", LINE)
SAVED = PartitionedValue("tanh", "aten.tanh", "saved", 2**27, storage=1, location=LINE)
GIVEN = PartitionedValue("x", "", "input", 2**26, storage=0)
KEPT = Partition("", "partition", (GIVEN, SAVED))
HELD = Checkpoints(regions=4, held=3, bytes=300, one=100)

TURN = Node("turn", "placeholder", "turn", dtype="c64")
ROTATION = Graph("", "post_grad", nodes=(
    TURN,
    Node("mul", "call_function", "aten.mul.Tensor", inputs=("turn", "turn"), dtype="c64",
         source=LINE),
    Node("view", "call_function", "aten.view_as_real.default", inputs=("mul",), dtype="f32"),
))  # fmt: skip
SPECTRUM = Graph("", "post_grad", nodes=(
    TURN,
    Node("fft", "call_function", "aten._fft_c2c.default", inputs=("turn",), dtype="c64"),
))  # fmt: skip
LOOP = UnrolledLoop(LINE, times=50, operators=400, all_operators=614, compile_id="0/0")
MULTIPLIED = KernelRow("torch.ops.aten.mul.Tensor", "extern", lines=(LINE,))

#: Kind → evidence for which there is such a finding, and evidence close to it for which there is
#: none.
CASES: dict[str, tuple[Evidence, Evidence]] = {
    "results-differ": (
        Evidence(agreement=Agreement(DIFFERS, differences=(Difference("output 0", "values"),))),
        Evidence(agreement=Agreement("random")),
    ),
    "known-fault": (
        Evidence(advisories=(Advice("Masks", "a wrong result", True, "", "Wait.", ("k",)),)),
        Evidence(),
    ),
    "nothing-compiled": (
        Evidence(own=OwnCompiles(2, 0, 0, cause="`forward` is bound to another object")),
        Evidence(own=OwnCompiles(2, 1, 1)),
    ),
    "recompile-limit": (
        Evidence(breaks=Breaks(breaks=(LIMITED,), graphs=8), recompiles=(AGAIN,)),
        Evidence(breaks=Breaks(breaks=(BREAK,), graphs=2), recompiles=(AGAIN,)),
    ),
    "unrolled-loop": (
        Evidence(loops=(LOOP,), seconds_of={"0/0": 23.0}),
        Evidence(loops=(replace(LOOP, times=8),), seconds_of={"0/0": 23.0}),
    ),
    "compiles-every-call": (
        Evidence(calls=3, call_of={"0/0": 1, "0/1": 2, "0/2": 3}, recompiles=(AGAIN, BOUND)),
        Evidence(calls=3, call_of={"0/0": 1, "0/1": 1, "0/2": 1}, recompiles=(AGAIN, BOUND)),
    ),
    "float32-products": (
        Evidence(cost=COST),
        Evidence(cost=replace(COST, products=8e-6)),
    ),
    "upcast-products": (
        Evidence(cost=replace(COST, narrow=6e-6), kernels=(UPCAST,)),
        Evidence(cost=COST, kernels=(replace(UPCAST, upcast=""),)),
    ),
    "launch-bound": (
        Evidence(cost=COST),
        Evidence(cost=replace(COST, memory=1.9e-4)),
    ),
    "slower-than-eager": (
        Evidence(measurement=Measurement("CPU", 2, (QUICK, replace(SLOW, mode="default")))),
        Evidence(measurement=Measurement("CPU", 2, (QUICK, replace(QUICK, mode="default")))),
    ),
    "no-cuda-graph": (
        Evidence(mode="reduce-overhead", cuda_graph_skips=("cpu device (arg1_1)",)),
        Evidence(mode="reduce-overhead"),
    ),
    "cpu-tensors": (Evidence(on_host=("m.py:7",)), Evidence()),
    "graph-break": (
        Evidence(breaks=Breaks(breaks=(BREAK,), graphs=2)),
        Evidence(breaks=Breaks(breaks=(replace(BREAK, skipped=True),), graphs=1)),
    ),
    "skipped": (
        Evidence(breaks=Breaks(breaks=(replace(BREAK, skipped=True),), graphs=1)),
        Evidence(breaks=Breaks(breaks=(BREAK,), graphs=2)),
    ),
    "copies": (
        Evidence(kernels=(COPY, WORK)),
        Evidence(kernels=(replace(COPY, origins=("aten.clone", "aten.add")), WORK)),
    ),
    "spills": (
        Evidence(kernels=(replace(WORK, spilled=64),)),
        Evidence(kernels=(replace(WORK, spilled=0),)),
    ),
    "recompile": (
        Evidence(calls=2, call_of={"0/0": 1, "0/1": 2}, recompiles=(AGAIN,)),
        Evidence(calls=3, call_of={"0/0": 1, "0/1": 2, "0/2": 3}, recompiles=(AGAIN, BOUND)),
    ),
    "cache-bypass": (
        Evidence(cachings=(BYPASS,), compile_time=TIMES),
        Evidence(cachings=(replace(BYPASS, state="miss", reason=""),), compile_time=TIMES),
    ),
    "complex-numbers": (
        Evidence(kernels=(MULTIPLIED,), post_grad=(ROTATION,)),
        Evidence(kernels=(replace(MULTIPLIED, name="torch.ops.aten._fft_c2c.default"),),
                 post_grad=(SPECTRUM,)),
    ),
    "saved-tensors": (
        Evidence(partitions=(KEPT,)),
        Evidence(partitions=(replace(KEPT, values=(replace(GIVEN, bytes=2**28), SAVED)),)),
    ),
    "checkpointing": (
        Evidence(checkpoints=(HELD,)),
        Evidence(checkpoints=(replace(HELD, held=1, bytes=100),)),
    ),
}  # fmt: skip


def test_an_operator_that_is_generated_code_is_no_call_on_complex_numbers():
    generated = replace(MULTIPLIED, category="pointwise")
    assert "complex-numbers" not in names(Evidence(kernels=(generated,), post_grad=(ROTATION,)))
    made = findings.find(Evidence(kernels=(MULTIPLIED,), post_grad=(ROTATION,)))
    (found,) = (each for each in made if each.name == "complex-numbers")
    assert found.what.endswith("a call of its own: mul") and found.places == (LINE,)
    assert str(found.cost) == "1 operator a call, counted"


RANK = JobProcess("rank 0", 0, compiles=(JobCompile("0/0", "f", seconds=1.0),))
REDUCES = DeviceKernel("ncclDevKernel_AllReduce", 1, 0.1)
WAITS = DeviceProfile("rank0", (replace(REDUCES, seconds=0.5),), span=1.0, busy=1.0, rank=0)
MISSED = CacheLookup("0/0", "Inductor", "miss", "f1", beside="the first",
                     changed=(KeyPart("inductor_config[debug]", "False", "True"),))  # fmt: skip


NO_CACHES = "torch.compiler.config.force_disable_caches = True"

#: Kind → a job that has its finding, and one that nearly has it.
JOBS = {
    "ranks-differ": (
        (Job(processes=(RANK, replace(RANK, rank=1, compiles=()))), ("rank 1 is done",)),
        (Job(processes=(RANK, replace(RANK, rank=1))), ()),
    ),
    "ranks-wait": (
        (Job(profiles=(WAITS, replace(WAITS, name="rank1", rank=1, kernels=(REDUCES,)))), ()),
        (Job(profiles=(WAITS, replace(WAITS, name="rank1", rank=1))), ()),
    ),
    "gpu-idle": (
        (Job(profiles=(replace(WAITS, busy=0.5, gap_between=("a", "b")),)), ()),
        (Job(profiles=(WAITS,)), ()),
    ),
    "compile-time": (
        (Job(processes=(replace(RANK, compiles=(JobCompile("0/0", "f", seconds=6.0),)),)), ()),
        (Job(processes=(RANK,)), ()),
    ),
    "caches-off": (
        (Job(processes=(replace(RANK, caches_off=NO_CACHES),)), ()),
        (Job(processes=(RANK,)), ()),
    ),
    "cache-miss": (
        (Job(processes=(replace(RANK, lookups=(MISSED,)),)), ()),
        (Job(processes=(replace(RANK, lookups=(replace(MISSED, changed=()),)),)), ()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", JOBS)
def test_a_rule_on_jobs_makes_its_finding(kind: str) -> None:
    fires, near_miss = JOBS[kind]
    assert kind in [each.name for each in find_in_job(*fires)]
    assert kind not in [each.name for each in find_in_job(*near_miss)]


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """Return the findings, of a compile that gave a graph."""
    return findings.find(replace(evidence, breaks=replace(evidence.breaks, graphs=1)))


def names(evidence: Evidence) -> list[str]:
    return [each.name for each in find(evidence)]


def measured_on_gpu(busy: float, *modes: ModeTimes) -> Evidence:
    profile = PassProfile((), busy)
    return Evidence(measurement=Measurement("H100", 2, (QUICK, *modes), profile=profile))


def launch_bound(evidence: Evidence) -> list[Finding]:
    return [each for each in find(evidence) if each.name == "launch-bound"]


def test_a_gpu_that_waits_is_a_finding_with_what_cuda_graphs_measured() -> None:
    default = ModeTimes("default", (1e-3,) * 11)
    graphs = replace(default, mode="reduce-overhead", rounds=(2e-4,) * 11)
    (alone,) = launch_bound(measured_on_gpu(1e-4, default))
    assert alone.cost == Cost(9e-4, "s a call", "measured") and "Not tried" in alone.actions[0]
    (tried,) = launch_bound(measured_on_gpu(1e-4, default, graphs))
    assert tried.cost.amount == pytest.approx(8e-4) and "5.0 times as fast" in tried.actions[0]
    busy = measured_on_gpu(9e-4, default, graphs)
    useless = measured_on_gpu(1e-4, default, replace(graphs, rounds=(2e-3,) * 11))
    assert not launch_bound(replace(busy, cost=COST))  # measured wins over computed
    assert not launch_bound(useless)


def test_launches_of_parts_that_were_refused_are_not_counted() -> None:
    (whole,) = launch_bound(Evidence(cost=COST))
    (rest,) = launch_bound(Evidence(cost=replace(COST, refused=1)))
    assert rest.what == f"at least {whole.what}" and "left out" not in words.bound(COST)
    assert "What is not known for this GPU is left out." in words.bound(replace(COST, refused=1))


def test_every_kind_has_a_case() -> None:
    assert {*CASES, *JOBS} == set(FINDING_KINDS)


@pytest.mark.parametrize("kind", CASES)
def test_a_rule_makes_its_finding(kind: str) -> None:
    fires, near_miss = CASES[kind]
    assert kind in names(fires)
    assert kind not in names(near_miss)


def test_nothing_is_found_where_nothing_is() -> None:
    assert names(Evidence(calls=2, kernels=(WORK,), compile_time=TIMES)) == []


def test_a_graph_that_was_compiled_again_costs_a_call_nothing() -> None:
    twin = replace(COPY, graph=1, runs=0)
    assert names(Evidence(kernels=(COPY, twin, WORK, replace(WORK, runs=0)))) == ["copies"]
    spilled = replace(WORK, spilled=64)
    assert names(Evidence(kernels=(spilled, replace(spilled, runs=0)))) == ["spills"]


def test_a_copy_in_a_graph_that_runs_twice_costs_twice() -> None:
    (found,) = find(Evidence(kernels=(replace(COPY, runs=2), WORK)))
    assert found.cost == Cost(1800, "byte a call", "counted")


def test_an_upcast_before_a_product_has_its_line_and_both_times() -> None:
    (found,) = [e for e in find(CASES["upcast-products"][0]) if e.name == "upcast-products"]
    assert found.what == (
        "values of bfloat16 are converted to float32 for products: a call's products take 50 µs "
        "at least, and 6 µs with these as bfloat16"
    )
    assert found.places == (LINE,) and str(found.cost) == "44 µs a call, computed"


def test_a_small_forward_may_save_what_it_likes() -> None:
    small = replace(KEPT, values=(replace(SAVED, bytes=2**20),))
    assert names(Evidence(partitions=(small,))) == []
    view = replace(SAVED, name="view", bytes=2**27)  # of the same storage, which counts once
    (found,) = find(Evidence(partitions=(replace(KEPT, values=(GIVEN, SAVED, view)),)))
    assert found.cost == Cost(2**27, "byte of memory", "computed") and found.places == (LINE,)


def test_sizes_of_many_functions_are_one_finding() -> None:
    places = [SourceLine("m.py", number, "", f"f{number}") for number in (5, 15, 25)]
    items = tuple(
        replace(AGAIN, function=each.function, location=each,
                reasons=(f"tensor 'x' size mismatch at index 0. expected 8, actual {each.line}",))
        for each in places
    )  # fmt: skip
    other = replace(THIRD, location=SourceLine("m.py", 35))
    sizes, number = find(Evidence(recompiles=(*items, other), seconds_of={"0/1": 2.0}))
    assert str(sizes.cost) == "6 s once, measured" and sizes.places == (*places,)
    assert sizes.what.startswith("3 functions compiled again for other sizes: tensor 'x' size")
    assert sizes.actions[0].startswith("Compile with dynamic=True") and "n == 2" in number.what
    assert "mark_dynamic" in find(Evidence(recompiles=items[:1]))[0].actions[0]


def test_the_fix_of_many_functions_names_no_argument_of_one() -> None:
    items = [replace(AGAIN, location=SourceLine("m.py", number)) for number in (5, 15)]
    other = replace(items[1], reasons=(AGAIN.reasons[0].replace("'x'", "'y'"),))
    (found,) = find(Evidence(recompiles=(items[0], other)))
    assert found.actions == ("Compile with dynamic=True, so that sizes are symbols. (Not tried.)",)
    tried = {f"m.py:{n}": Fix(f"Tried: once instead of {n}.", SIZES, helped=True) for n in (5, 15)}
    (found,) = find(Evidence(recompiles=(items[0], other), fixes=tried))
    assert found.actions[0].endswith("are symbols. Tried: each is compiled less often.")


def test_calls_that_change_other_values_are_no_compile_at_every_call() -> None:
    """The first call fills a table, the third has another size: a fourth compiles nothing."""
    calls = CASES["compiles-every-call"][0]
    filled = replace(AGAIN, reasons=("0/0: not self.table",))
    resized = replace(THIRD, reasons=("0/1: tensor 'x' size mismatch at index 0. expected 8",))
    assert names(replace(calls, recompiles=(filled, resized))) == ["recompile"]
    emptied = replace(filled, compile_id="0/2", reasons=("0/1: not self.rows",))
    assert names(replace(calls, recompiles=(filled, emptied))) == ["recompile"]
    refilled = replace(emptied, reasons=("0/1: len(self.table) == 1",))
    assert names(replace(calls, recompiles=(filled, refilled))) == ["compiles-every-call"]


def test_a_number_that_changed_beside_the_failed_guard_is_named() -> None:
    """PyTorch stops at the first guard that fails; a number that became a symbol changed, too."""
    (plain,) = find_recompiles(Evidence(recompiles=(THIRD,)))
    (found,) = find_recompiles(Evidence(recompiles=(THIRD,), became={"0/2": ("n", "self.scale")}))
    assert "n == 2" in plain.what
    assert found.what == f"{plain.what}; self.scale changed, too"


def test_functions_of_a_library_that_breaks_compile_alone() -> None:
    """Without the breaks they would be part of their caller's graph."""
    places = [SourceLine("lib.py", number, "", f"f{number}") for number in (5, 15)]
    reasons = ("tensor 'x' size mismatch at index 0. expected 8, actual 9", "n == 3")
    items = tuple(
        replace(AGAIN, compile_id=f"{number}/1", reasons=(reason,), location=place)
        for number, (reason, place) in enumerate(zip(reasons, places, strict=True), 1)
    )
    callers = {"lib.py:f5": LINE, "lib.py:f15": LINE}
    broken = Evidence(recompiles=items, libraries=frozenset({"lib.py"}), callers=callers,
                      breaks=Breaks(breaks=(BREAK,)))  # fmt: skip
    _, found = find(broken)
    assert found.what == f"2 functions compiled again: {'; '.join(reasons)}"
    assert found.places == (LINE,) and found.actions == (END_THE_BREAKS.text,)
    for other in (
        replace(broken, breaks=Breaks()),
        replace(broken, libraries=frozenset()),
        replace(broken, recompiles=tuple(replace(each, compile_id="0/1") for each in items)),
        replace(broken, fixes={str(each): Fix("Tried.", helped=True) for each in places}),
    ):
        assert END_THE_BREAKS.text not in [action for f in find(other) for action in f.actions]


def test_a_recompile_of_pytorchs_own_frame_is_at_the_readers_line_in_it() -> None:
    """Where nothing of the reader's called the frame, as with an nn.Sequential that is compiled."""
    frames = [("torch/_dynamo/external_utils.py", 69, "inner", "return fn(*args, **kwargs)"),
              ("model.py", 12, "forward", "self.calls += 1"),
              ("lib/layer.py", 5, "bump", "module.calls += 1")]  # fmt: skip
    texts = [f'  File "{f}", line {n}, in {of}\n    {code}' for f, n, of, code in frames]
    stack = "\n".join(["User stack trace:", *texts])
    own = SourceLine("torch/_dynamo/external_utils.py", 67, "", "inner")
    again = replace(AGAIN, reasons=(f"0/0: fn._modules['0'].calls == 0\n{stack}",), location=own)
    evidence = Evidence(recompiles=(again,), libraries=frozenset({own.file, "lib/layer.py"}))
    line = SourceLine("model.py", 12, "self.calls += 1", "forward")
    (found,) = find(evidence)
    assert found.places == (line,)
    assert found.what.startswith("the code around this line is compiled again (0/1): fn.0.calls")
    called = replace(evidence, callers={"0/1": LINE})
    assert find(called)[0].places == (line,)  # what changes is inside
    size = replace(again, reasons=(f"{AGAIN.reasons[0]}\n{stack}",))
    (at_call,) = find(replace(called, recompiles=(size,)))
    assert at_call.places == (LINE,) and at_call.what.startswith("what this line calls is")
    assert find(replace(evidence, recompiles=(size,)))[0].places == (line,)
    readers = replace(again, location=START)
    (at_function,) = find(replace(evidence, recompiles=(readers,)))
    assert at_function.places == (START,)


def test_a_bypass_costs_what_its_cache_would_save() -> None:
    """Inductor's cache keeps a graph that AOTAutograd's does not take."""
    phases = ("Dynamo", "AOTAutograd", "Inductor: joint-graph passes", "Inductor: lowering",
              "C++ compiler")  # fmt: skip
    times = CompileTime(tuple(Phase(name, 2, 10.0**i) for i, name in enumerate(phases)), compiles=2)
    for cache, seconds in (("AOTAutograd", 55.0), ("Inductor", 555.0)):
        passed = replace(BYPASS, cache=cache)
        (found,) = find(Evidence(cachings=(BYPASS, passed), compile_time=times))
        assert found.cost == Cost(seconds, "s each start", "measured")
    (found,) = find(Evidence(cachings=(BYPASS,)))
    assert found.cost == NOT_KNOWN


def test_a_copy_that_a_call_does_not_wait_for_is_no_finding() -> None:
    quick, slow = (replace(COPY, least=seconds) for seconds in (1e-7, 1e-4))
    cost = replace(COST, tf32=None, bound="memory")  # a call of 0.2 ms
    assert names(Evidence(kernels=(slow, WORK), cost=cost)) == ["copies"]
    assert names(Evidence(kernels=(quick, WORK), cost=cost)) == []


def test_a_line_with_and_without_its_code_is_one_line() -> None:
    bare = replace(AGAIN, location=SourceLine("lib.py", 5, "", "inner"))
    called = {"lib.py:inner": replace(LINE, code=""), "0/1": LINE}
    items = (bare, replace(bare, compile_id="1/1", location=SourceLine("lib.py", 9, "", "inner")))
    (found,) = find(Evidence(recompiles=items, callers=called))
    assert found.places == (LINE,)


def test_a_library_s_line_is_left_out_beside_the_reader_s() -> None:
    inner = replace(AGAIN, location=SourceLine("lib.py", 5, "", "inner"))
    evidence = Evidence(recompiles=(AGAIN, inner), libraries=frozenset({"lib.py"}))
    (found,) = find(evidence)
    assert found.places == (START,)
    (alone,) = find(replace(evidence, recompiles=(inner,)))
    assert [str(place) for place in alone.places] == ["lib.py:5"]


def test_a_number_that_became_a_symbol_is_a_size() -> None:
    again = replace(THIRD, location=SourceLine("m.py", 35))
    numbers = Evidence(recompiles=(AGAIN, again))
    assert len(find(numbers)) == 2
    (found,) = find(replace(numbers, symbols=frozenset({"n"})))
    assert found.what.endswith("expected 8, actual 9; n == 2")


def test_what_cannot_be_acted_on_is_a_mark() -> None:
    """With and without a gradient are compiled once each, and so are train() and eval()."""
    gradient = "0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0"
    for reason in (gradient, "0/0: not self.training"):
        evidence = Evidence(recompiles=(replace(AGAIN, reasons=(reason,)),))
        assert find(evidence) == ()
        (mark,) = findings.find_marks(evidence)
        assert mark.what == f"f compiled again (0/1): {reason[5:]}" and mark.places == (START,)
        helped = replace(evidence, fixes={str(START): Fix("Do this. Tried: once.", helped=True)})
        assert len(find(helped)) == 1 and findings.find_marks(helped) == ()


@pytest.mark.parametrize("change", [{"times": 9}, {"operators": 99}, {"all_operators": 801}])
def test_a_short_or_small_loop_is_no_finding(change: dict[str, int]) -> None:
    assert find(Evidence(loops=(replace(LOOP, **change),), seconds_of={"0/0": 23.0})) == ()


def test_a_loop_has_its_own_compiles_seconds_once() -> None:
    again = replace(LOOP, compile_id="0/1")
    (found,) = find(Evidence(loops=(LOOP, again), seconds_of={"0/0": 23.0, "0/1": 40.0}))
    assert str(found.cost) == "23 s once, measured" and found.places == (LINE,)
    (unknown,) = find(Evidence(loops=(LOOP,)))
    assert unknown.cost == NOT_KNOWN and "took" not in unknown.what


def test_only_a_loop_s_own_lines_count() -> None:
    code = Path(planted.__file__).read_text(encoding="utf-8").splitlines()
    first = code.index("    for _ in range(20):") + 1
    file = scrub(planted.__file__)

    def nodes(line: int, target: str, count: int) -> list[Node]:
        place = SourceLine(file, line, "", "bisected")
        return [Node(f"{target}{n}", "call_function", target, source=place) for n in range(count)]

    inside, outside = nodes(first + 1, "truediv", 20), nodes(first + 5, "sub", 30)
    (found,) = unrolled_loops.find((Graph("", "dynamo", nodes=(*inside, *outside)),))
    assert (found.line.line, found.times, found.operators, found.all_operators) == (
        first, 20, 20, 50
    )  # fmt: skip


def test_a_switch_at_every_call_is_no_mark() -> None:
    reasons = ("0/0: not self.training",)
    every, _ = CASES["compiles-every-call"]
    items = tuple(replace(each, reasons=reasons) for each in every.recompiles)
    assert names(replace(every, recompiles=items)) == ["compiles-every-call"]


def test_a_fix_leaves_out_what_is_unavoidable() -> None:
    reasons = ("0/0: not self.training", "0/0: n == 2")
    (found,) = find(Evidence(recompiles=(replace(AGAIN, reasons=reasons),)))
    assert "not self.training; n == 2" in found.what and "Nothing to do" not in found.actions[0]


def test_the_limit_takes_the_place_of_its_recompiles() -> None:
    (found,) = find(CASES["recompile-limit"][0])
    assert found.what == (
        "a reason [GB0039]: f compiled again (0/1): "
        "tensor 'x' size mismatch at index 0. expected 8, actual 9"
    )


def test_recompiles_cost_their_own_seconds() -> None:
    seconds = {"0/0": 60.0, "0/1": 3.0, "0/2": 1.0}
    fires, _ = CASES["compiles-every-call"]
    (found,) = find(replace(fires, seconds_of=seconds, compile_time=TIMES))
    assert str(found.cost) == "2 s a call, measured"
    (once,) = find(replace(CASES["recompile"][0], seconds_of=seconds))
    assert str(once.cost) == "3 s once, measured"
    (unknown,) = find(replace(CASES["recompile"][0], compile_time=TIMES))
    assert unknown.cost == NOT_KNOWN


def test_a_break_on_data_reads_a_number() -> None:
    waits = replace(BREAK, gb_type="Data-dependent branching")
    others = ("Dynamic shape operator", "Data dependent operator")  # as nonzero and equal
    for asks in (waits, *(replace(BREAK, gb_type=gb_type) for gb_type in others)):
        (found,) = find(Evidence(breaks=Breaks(breaks=(asks,), graphs=2)))
        assert str(found.cost) == "1 number read a call, counted"
    for item in (BREAK, replace(waits, skipped=True)):
        (other,) = find(Evidence(breaks=Breaks(breaks=(item,), graphs=2)))
        assert other.cost == NOT_KNOWN


def test_a_skipped_function_is_named_and_whether_a_part_of_it_is_compiled() -> None:
    def skip(function: str, *, skipped: bool = True) -> Break:
        line = SourceLine("m.py", 7, "print(i)", function)
        return replace(BREAK, location=line, stack=(line,), skipped=skipped)

    def said(*items: Break) -> list[str]:
        found = find(Evidence(breaks=Breaks(breaks=items, graphs=1)))
        return [e.what.partition("; ")[2] for e in found if e.name == "skipped"]

    assert said(skip("step")) == ["not compiled: step"]
    assert said(skip("step"), skip("other", skipped=False)) == ["not compiled: step"]
    assert said(skip("step"), skip("step", skipped=False)) == ["not compiled: the rest of step"]
    assert said(skip("")) == [""]


def test_the_break_that_reads_the_most_numbers_is_first() -> None:
    none, one, two = (
        replace(BREAK, gb_type=kind, location=SourceLine("m.py", number))
        for number, kind in enumerate(("Some type", *["Data-dependent branching"] * 2))
    )
    breaks = Breaks(breaks=(none, one, two), graphs=2)
    found = find(Evidence(breaks=breaks, runs_at={"m.py:2": 2}))
    assert [each.cost.amount for each in found] == [2, 1, 0]


def test_a_break_that_runs_several_times_reads_each_time() -> None:
    waits = replace(BREAK, gb_type="Data-dependent branching")
    (found,) = find(Evidence(breaks=Breaks(breaks=(waits, waits), graphs=3), runs_at={"m.py:7": 3}))
    assert str(found.cost) == "3 numbers read a call, counted"


def test_a_break_inside_pytorch_has_only_what_a_trial_found() -> None:
    inside = SourceLine("torch/nn/modules/batchnorm.py", 192, "float(count)", "forward")
    hints = ("Remove the call. (Not tried.)", "Set it. Tried: 1 graph break becomes 0.")
    item = replace(BREAK, location=inside, stack=(inside,), hints=hints, tried=True)
    (found,) = find(Evidence(breaks=Breaks(breaks=(item,), graphs=2)))
    assert found.actions == hints[1:]


def test_a_break_of_a_library_stands_at_the_line_that_called_it() -> None:
    inner = SourceLine("kornia/canny.py", 301, "while edges.any():", "canny")
    broken = replace(BREAK, stack=(LINE, inner), location=inner)
    evidence = Evidence(breaks=Breaks(breaks=(broken,), graphs=2))
    (found,) = find(replace(evidence, libraries=frozenset({inner.file})))
    assert found.places == (LINE,)
    assert found.what == "a reason [GB0001], in kornia/canny.py:301"
    (own,) = find(evidence)
    assert own.places == (inner,)


def _break_in_pytorchs_code(*stack: SourceLine) -> Break:
    inside = SourceLine("torch/_dynamo/polyfills/__init__.py", 505)
    return replace(BREAK, location=inside, stack=(*stack, inside), skipped=True)


def test_a_skipped_function_of_a_library_stands_where_another_break_says_it_is_called() -> None:
    """PyTorch's stack of a compile lacks the frame whose rewritten code made the call."""
    called = replace(LINE, file="ptwt/transform.py", line=131, function="wavedec")
    later, other = replace(called, line=143), replace(called, line=9, function="other")
    broken = replace(BREAK, location=called, stack=(LINE, called))
    evidence = Evidence(
        breaks=Breaks(breaks=(broken, _break_in_pytorchs_code(later)), graphs=2),
        libraries=frozenset({"ptwt/transform.py"}),
    )
    assert [each.places for each in find(evidence) if each.name == "skipped"] == [(LINE,)]
    alone = replace(evidence, breaks=Breaks(breaks=(_break_in_pytorchs_code(other),), graphs=2))
    (found,) = find(alone)
    assert found.places == (other,)


def test_a_break_ends_the_graphs_of_all_on_the_way_to_it() -> None:
    inner = SourceLine("kornia/canny.py", 301, "if edges.any():", "canny")
    first = replace(BREAK, gb_type="Data-dependent branching", location=inner)
    stacks = ((START, inner), (LINE, inner), (inner,))
    items = tuple(replace(first, stack=stack) for stack in stacks)
    (found,) = find(Evidence(breaks=Breaks(breaks=items), libraries=frozenset({inner.file})))
    assert found.places == (LINE,)  # not the first line of a function
    assert found.cost == Cost(1, "number read a call", "counted")


def test_the_error_of_an_operator_on_fake_tensors_is_in_the_finding() -> None:
    text = "Dynamo failed to run FX node with fake tensors: call_function f(*()): got "
    failed = replace(BREAK, explanation=f"{text}AttributeError('no shpe')")
    (found,) = find(Evidence(breaks=Breaks(breaks=(failed,))))
    assert found.what == "a reason [GB0001]: AttributeError('no shpe')"


def test_equal_breaks_of_a_line_are_one_finding() -> None:
    (found,) = find(Evidence(breaks=Breaks(breaks=(BREAK, BREAK), graphs=3)))
    assert found.places == (LINE,) and found.actions == ("Do this.",)


def test_values_that_differ_are_said_in_place_of_their_guards() -> None:
    again = replace(THIRD, reasons=("0/1: self.i == 2",))
    evidence = Evidence(recompiles=(again,), distinct={"0": {"self.i": ("1", "2", "3")}})
    (found,) = find(evidence)
    assert found.what == "f compiled again (0/2): self.i has 3 values: 1, 2, 3"


BRANCHES = """skipping cudagraphs due to control flow operator: torch.cond. Found from :
   File "m.py", line 14, in branches
    return torch.cond(x.sum() > 0, up, down, (x,))
           ^^^^^^^^^^
"""


def test_a_reason_for_no_cuda_graph_has_its_line_and_a_fix() -> None:
    (found,) = find(Evidence(cuda_graph_skips=(BRANCHES,)))
    assert found.what == "skipping cudagraphs due to control flow operator: torch.cond."
    assert [str(place) for place in found.places] == ["m.py:14"]
    assert found.places[0].code == "return torch.cond(x.sum() > 0, up, down, (x,))"
    assert found.actions[0].startswith("torch.where")


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("skipping cudagraphs due to mutated inputs (1 instances)", "mark_static_address"),
        ("skipping cudagraphs due to input storage mutation (1 instances)", "set_()"),
        ("skipping cudagraphs due to cpu device (arg1_1)", "on the GPU"),
        ("skipping cudagraphs due to multiple devices: cuda:0, cuda:1", "each GPU"),
        ("skipping cudagraphs due to graph with symbolic shapes inputs and config", "pad to a few"),
        ("disabling cudagraphs due to incompatible op aten.item", "graph_partition"),
        ("skipping cudagraphs due to complex memory overlap", "clone()"),
        ("index_put_ fallback with boolean indexing is not compatible", "torch.where(mask"),
        ("skipping cudagraphs due to cpp-wrapper does not support", "cpp_wrapper"),
        ("skipping cudagraphs due to bisector", ""),
    ],
)
def test_each_reason_for_no_cuda_graph_has_its_fix(reason: str, fix: str) -> None:
    (found,) = find(Evidence(cuda_graph_skips=(reason,)))
    assert found.what == reason and bool(found.actions) == bool(fix)
    assert fix in "".join(found.actions)


def test_a_value_that_has_a_cache_entry_is_no_new_cause() -> None:
    """x is wanted with and without a gradient; what compiles again later is the scale."""
    without, with_ = (
        f"tensor 'x' requires_grad mismatch. expected requires_grad={n}" for n in "01"
    )
    reasons = ((without,), (with_, "self.scale == 1.0"), (without, "self.scale == 1.0", without))
    again = tuple(replace(THIRD, reasons=each) for each in reasons)
    (found,) = find(Evidence(recompiles=again))
    assert found.what.endswith(f"3 times (0/2 to 0/2): {without}; self.scale == 1.0")


def test_the_dearest_comes_first() -> None:
    dear = Finding("launch-bound", "", cost=Cost(2e-4, "s a call", "computed"))
    cheap = Finding("float32-products", "", cost=Cost(1e-4, "s a call", "computed"))
    wrong, once = Finding("results-differ", ""), Finding("recompile", "")
    assert rank_findings((once, cheap, dear, wrong)) == (wrong, dear, cheap, once)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(2048, "2,048 bytes a call, counted"), (3 * 2**20, "3.0 MiB a call, counted")],
)
def test_bytes_as_a_reader_writes_them(amount: int, text: str) -> None:
    assert str(Cost(amount, "byte a call", "counted")) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3e-12, "under 0.1 µs"),
        (4.4e-6, "4.4 µs"),
        (2.1e-4, "0.21 ms"),
        (0.0995, "0.1 s"),
        (17.3, "17 s"),
    ],
)
def test_seconds_as_a_reader_writes_them(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_the_site_documents_every_kind() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
    text = page.read_text(encoding="utf-8")
    for kind in FINDING_KINDS.values():
        assert f"{{ #{kind.name} }}" in text
        assert kind.rank in (WRONG, IDLE, EACH_CALL, ONCE)


def test_no_graph_is_a_finding() -> None:
    (found,) = findings.find(Evidence())
    assert (found.name, found.what) == ("nothing-compiled", "no graph came of the call")
