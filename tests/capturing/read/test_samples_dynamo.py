"""What Dynamo says, as five versions said it: breaks, guards, recompiles, symbols, times."""

from __future__ import annotations

import json
import re

import pytest

from tclab.capturing.read import breaks, bytecode, frames, guards, recompiles, times
from tclab.capturing.trace.events import Trace
from tclab.model import Guard
from tests.samples.log import FILE, SAMPLES
from tests.samples.replay import VERSIONS, records, replayed, since, text

each_version = pytest.mark.parametrize("version", VERSIONS)

# ------------------------------------------------------------------------------ the trace


@each_version
def test_records_become_events_with_frames_counted_from_0(version):
    said = [(r.meta.get("frame_id"), *r.meta) for r in records(version, "breaks")]
    assert said[1][:2] == (3, "dynamo_start")  # PyTorch's own number of the frame
    with replayed(version, "breaks") as trace:
        events = [(e.name, e.compile_id, e.attempt) for e in trace.events if e.compile_id]
    assert events == [
        ("dynamo_start", "0/0", 0),
        ("dynamo_graph_break_reason", "0/0", 0),
        ("compilation_metrics", "0/0", 1),
        ("dynamo_start", "1/0", 0),
        ("dynamo_graph_break_reason", "1/0", 0),
        ("dynamo_output_graph", "1/0", 1),
        ("compilation_metrics", "1/0", 1),
        ("dynamo_start", "2/0", 0),
        ("dynamo_graph_break_reason", "2/0", 0),
        ("compilation_metrics", "2/0", 1),
        ("dynamo_start", "3/0", 0),
        ("dynamo_output_graph", "3/0", 0),
        ("compilation_metrics", "3/0", 0),
        ("dynamo_start", "4/0", 0),
        ("dynamo_graph_break_reason", "4/0", 0),
        ("compilation_metrics", "4/0", 0),
    ]


@each_version
def test_names_that_dynamo_counts_are_counted_from_1(version):
    with replayed(version, "named") as trace:
        shown = "\n".join(trace.stabilize(e.payload) for e in trace.events)
    names = set(re.findall(r"\w*__[\w…]+", shown))
    others = {"__enter__", "__exit__", "__import_torch", "__import_torch_dot__dynamo_dot_utils"}
    profiler = {"__import_torch_dot_autograd_dot_profiler"}
    assert names - since({"2.11": others, "2.15": others | profiler}, version) == {
        *("__compiled_fn_1", "__compiled_fn_2", "__builtins_dict___1", "__resume_at_80_1"),
        *("___context_manager_0_1", "__subclass_Marked_…"),
    }


def test_names_of_comprehensions_are_counted_too():
    """Dynamo breaks inside a comprehension where Python inlines it, so from Python 3.12 on."""
    trace = Trace()
    trace.add("x", None, "LOAD_GLOBAL  5 (__comprehension_many_at_7_2)", (None, None))
    assert trace.stabilize("__comprehension_many_at_7_2()") == "__comprehension_many_at_7_1()"


# ------------------------------------------------------------------------------ frames, breaks


@each_version
def test_frames_are_named_as_the_user_wrote_them(version):
    with replayed(version, "breaks") as trace:
        found = {id_: (f.function, f.line) for id_, f in frames.frames_by_compile(trace).items()}
        assert {f.file for f in frames.frames_by_compile(trace).values()} == {FILE}
    assert found == {
        "0/0": ("calls", 58),
        "1/0": ("prints", 44),
        "2/0": ("prints", 47),
        "3/0": ("calls", 59),
        "4/0": ("prints_in_a_loop", 51),
    }


PRINT = (
    "Dynamo does not know how to trace builtin operator `print` with argument types ['str'] "
    "(has_kwargs False)"
)
PRINT_HINTS = (
    (
        "Avoid calling builtin `print` with argument types ['str']. Consider using an equivalent "
        "alternative function/method to `print`."
    ),
    (
        "If you are attempting to call a logging function (e.g. `print`), you can try adding it to "
        "`torch._dynamo.config.reorderable_logging_functions`."
    ),
    "Please report an issue to PyTorch.",
)
SKIP = (
    "Skip calling function `<function disabled at 0x…>` since it was wrapped with "
    "`torch.compiler.disable` (reason: None)"
)


@each_version
def test_breaks_are_counted_once_and_say_why(version):
    with replayed(version, "breaks") as trace:
        found = breaks.read_breaks(trace)
    inlined, disabled, loop = found.breaks
    assert found.graphs == 2
    assert (inlined.gb_id, inlined.gb_type) == ("GB0059", "Failed to trace builtin operator")
    assert inlined.reason == inlined.gb_type
    assert (inlined.explanation, inlined.hints) == (PRINT, PRINT_HINTS)
    assert (disabled.gb_id, disabled.explanation) == ("GB0098", SKIP)
    assert disabled.gb_type == "Skip calling `torch.compiler.disable()`d function"
    assert disabled.hints == ("Remove the `torch.compiler.disable` call",)
    assert (loop.gb_id, loop.explanation, loop.hints) == ("GB0059", PRINT, PRINT_HINTS)
    assert loop.reason == "Failed to trace builtin operator; frame skipped: graph break in loop"
    assert [b.skipped for b in found.breaks] == [False, False, True]


@each_version
def test_a_breaks_stack_starts_at_the_frame_that_was_compiled(version):
    with replayed(version, "breaks") as trace:
        stacks = [
            [(s.function, s.line, s.code) for s in b.stack] for b in breaks.read_breaks(trace)
        ]
    assert stacks == [
        [("calls", 59, "return prints(x) + 1"), ("prints", 47, 'print("break")')],
        [("prints", 48, "return disabled(x)")],
        [("prints_in_a_loop", 54, 'print("break")')],
    ]


@each_version
def test_a_frame_given_up_without_a_reason_is_told_by_its_metrics(version):
    with replayed(version, "breaks") as trace:
        trace.events = [e for e in trace.events if e.name != "dynamo_graph_break_reason"]
        (found,) = breaks.read_breaks(trace).breaks
    assert (found.reason, found.skipped) == ("Failed to trace builtin operator", True)
    assert (found.location.function, found.location.line) == ("prints_in_a_loop", 51)


# ------------------------------------------------------------------------------ guards


def shown(guard: Guard) -> str:
    """``EQUALS_MATCH G['SHIFT']: G['SHIFT'] == 3 @36``; a place in PyTorch by its file."""
    place = guard.location
    at = f" @{place.line if place.file == FILE else place.file}" if place else ""
    (check,) = guard.checks
    return f"{guard.type} {guard.source}: {check}{at}".replace(" :", ":")


AMBIENT = [
    (
        "LAMBDA_GUARD: torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None "
        "@torch/_dynamo/output_graph.py"
    ),
    "TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()",
    "DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None @torch/_dynamo/output_graph.py",
]
MARKS = {
    "2.11": ["NO_HASATTR L['x']: hasattr(L['x'], '_dynamo_dynamic_indices') == False @34"],
    "2.13": [
        f"DIMENSION_DYNAMIC_MARKING_GUARD L['x']: hasattr(L['x'], '_dynamo_{name}') == False @34"
        for name in ("dynamic_indices", "weak_dynamic_indices", "unbacked_indices",
                     "strict_unbacked_indices", "static_indices")
    ],
}  # fmt: skip
OTHERS = [
    "EQUALS_MATCH L['power']: L['power'] == 2 @34",
    "EQUALS_MATCH G['SHIFT']: G['SHIFT'] == 3 @36",
    "TYPE_MATCH L['self']: ___check_type_id(L['self'], …), type=<class 'functions.Scaled'> @35",
    "TYPE_MATCH L['self'].sizes: ___check_type_id(L['self'].sizes, …), type=<class 'dict'> @35",
    "EQUALS_MATCH L['self'].sizes['n']: L['self'].sizes['n'] == 2 @35",
]
CHECK = (
    "TENSOR_MATCH L['x']: check_tensor(L['x'], Tensor, DispatchKeySet(CPU, BackendSelect, "
    "ADInplaceOrView, AutogradCPU), torch.float32, device=None, requires_grad=False, "
    "size=[{}, 4], stride=[4, 1]) @34"
)
SYMBOLIC = "LAMBDA_GUARD: 2 <= L['x'].size()[0] @34"


@each_version
def test_every_leaf_of_the_guard_tree(version):
    with replayed(version, "recompile") as trace:
        first, second = guards.read_guards(trace)
    assert (first.function, first.compile_id, second.compile_id) == ("forward", "0/0", "0/1")
    plain = [shown(g) for g in first if g.type != "GLOBAL_STATE"]
    rest = [*since(MARKS, version), *OTHERS]
    assert plain == [*AMBIENT, CHECK.format(8), *rest]
    dynamic = [shown(g) for g in second if g.type != "GLOBAL_STATE"]
    assert dynamic == [*AMBIENT, CHECK.format("None"), *rest, SYMBOLIC]


@each_version
def test_the_global_state_is_read_whole(version):
    with replayed(version, "recompile") as trace:
        (state,) = (g for g in guards.read_guards(trace)[0] if g.type == "GLOBAL_STATE")
    against = json.loads(state.checks[0].removeprefix("___check_global_state() against "))
    assert (against["grad_mode"], against["num_threads"], state.location) == (True, 1, None)
    assert ("cuda_matmul_precision" in against) == since({"2.11": False, "2.15": True}, version)


@each_version
def test_the_tree_names_files_whole_and_no_latency(version):
    with replayed(version, "recompile") as trace:
        tree = guards.read_guards(trace)[0].tree
        (said, _) = (e.payload for e in trace.select("dynamo_cpp_guards_str"))
    assert "Guard latency = " in said
    assert "latency" not in tree
    files = re.findall(r"# (\S+):\d+ in ", tree)
    assert set(files) == {FILE, "torch/_dynamo/output_graph.py"}
    assert tree.startswith("TREE_GUARD_MANAGER:\n+- RootGuardManager\n")


@each_version
def test_recompiles_and_symbols(version):
    with replayed(version, "recompile") as trace:
        (recompile,) = recompiles.read_recompiles(trace)
        (symbol,) = recompiles.read_symbols(trace)
        assert list(trace.frames) == [11]
    assert recompile.reasons == ("0/0: tensor 'x' size mismatch at index 0. expected 8, actual 16",)
    assert (recompile.compile_id, recompile.function, recompile.location.line) == (
        "0/1", "forward", 33,
    )  # fmt: skip
    assert (symbol.name, symbol.value, symbol.source) == ("s77", "16", "L['x'].size()[0]")
    assert symbol.bounds == "[2, int_oo]"
    assert (symbol.location.file, symbol.location.line) == (FILE, 34)
    assert symbol.location.code == "x = x**power"


# ------------------------------------------------------------------------------ times, bytecode


def chrome(version: str) -> Trace:
    """A trace of the events of times.txt."""
    trace = Trace()
    for line in text(version, "times.txt").splitlines():
        kind, at, pid, tid, name = line.split(" ", 4)
        data = {"name": name, "ph": kind, "ts": float(at), "pid": int(pid), "tid": int(tid)}
        trace.add("chromium_event", data, "", (None, None))
    return trace


@each_version
def test_phases_are_counted_and_add_up(version):
    trace = chrome(version)
    table = times.read_compile_time(trace).table
    assert [row[:2] for row in table.rows] == [
        ("Dynamo", 2),
        ("Dynamo: tracing bytecode", 1),
        ("Dynamo: building guards", 1),
        ("Other backend work", 1),
        ("Inductor: pre-grad passes", 1),
        ("AOTAutograd", 2),
        ("Inductor: joint-graph passes", 1),
        ("AOTAutograd: partitioning", 1),
        ("Inductor", 2),
        ("Inductor: post-grad passes", 2),
        ("Inductor: lowering", 2),
        ("Inductor: scheduling and fusion", 2),
        ("Inductor: code generation", 2),
        ("C++ compiler", 9),
        ("Waiting for kernels to compile", 2),
        ("Total", 2),
    ]
    total = sum(span(trace, name) for name in ("dynamo", "entire_backward_compile"))
    assert table.rows[-1][2] == pytest.approx(total, abs=1e-5)
    guards_seconds = next(r[2] for r in table.rows if r[0] == "Dynamo: building guards")
    assert guards_seconds == pytest.approx(span(trace, "build_guards"), abs=1e-6)


@each_version
def test_a_timeline_has_phases_where_they_were(version):
    trace = chrome(version)
    chart = times.read_timeline(trace)
    begins, lengths = chart.series.values()
    whole = max(begin + length for begin, length in zip(begins, lengths, strict=True))
    assert begins[0] == 0 and list(begins) == sorted(begins)
    assert all(length >= whole / 100 for length in lengths)
    assert chart.x[0] == "Dynamo" and "C++ compiler" in chart.x
    assert lengths[0] == pytest.approx(span(trace, "dynamo"), abs=1e-5)
    long_enough = span(trace, "build_guards") >= whole / 100
    assert ("Dynamo: building guards" in chart.x) == long_enough


def test_a_timeline_of_nothing_is_empty():
    assert times.read_timeline(Trace()).x == ()


def span(trace: Trace, name: str) -> float:
    """Seconds from the one beginning of an event to its end."""
    begin, end = (e.data for e in trace.events if e.data["name"] == name)
    assert (begin["ph"], end["ph"]) == ("B", "E")
    return (end["ts"] - begin["ts"]) / 1e6


@pytest.mark.parametrize(
    ("python", "count", "first", "last"),
    [
        ("3.10", 25, "LOAD_CONST", "RERAISE"),
        ("3.11", 28, "RESUME", "RETURN_VALUE"),
        ("3.12", 28, "RESUME", "RERAISE"),
        ("3.13", 27, "RESUME", "RERAISE"),
    ],
)
def test_lines_of_a_disassembly_that_are_instructions(python, count, first, last):
    shown = (SAMPLES / f"python-{python}.dis").read_text(encoding="utf-8")
    numbers = bytecode.instruction_lines(shown)
    lines = [shown.splitlines()[n - 1] for n in numbers]
    assert all(re.search(r"\b[A-Z]{3,}(_[A-Z]+)*\b", line) for line in lines)
    assert len(lines) == count
    assert first in lines[0]
    assert last in lines[-1]
