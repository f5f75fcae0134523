"""What helps is tried before it is said."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tclab.compare import fixes
from tclab.errors import ExplainError
from tclab.explain import ExplainRequest, explain, explain_named, failures, load, source
from tclab.explain.subject import Subject
from tclab.explain.trials import breaks, failing, recompile_remedies, recompiles, scalars
from tclab.explain.trials.batch_norm import set_momentum
from tclab.explain.trials.checks import assert_in_graph
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.rewrites import list_rewrites, move_compiles
from tclab.explain.trials.runner import TrialRunner, open_runner
from tclab.model import Break, Breaks, Report, SourceLine

SRC = Path(recompiles.__file__).resolve().parents[3]

FILE = """\
import torch
from torch import nn


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = None

    def forward(self, x):
        if self.seen is None:
            self.seen = x.shape
        return x * 2


cached = Cached()


def scaled(x, weight):
    return x * weight.sum()


def filled(bag, x):
    bag["new"] = x
    return x * len(bag)


def chosen(x):
    return x[x > 0].sum()


def checked(x):
    if (x == 0).any():
        raise ValueError(
            "a zero"
        )
    return 1 / x


def described(x):
    if not (
        x > 0
    ).all():
        low = x.min()
        raise ValueError(low)
    return 1 / x


part = torch.compile(nn.Sequential(nn.Linear(2, 2)).requires_grad_(False), backend="eager")


def drifting(x, grad):
    if grad:
        return part(x)
    with torch.no_grad():
        return part(x) + 1


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(4, 4)

    def forward(self, x):
        with torch.inference_mode():
            kept = self.part(x.view(-1, 4))
        return self.part(x), kept


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(2, 8))

    def forward(self, x, at):
        self.table[:, at] = x
        return self.table.sum() * x


keeps = Keeps()


def picked(rows, at):
    return torch.softmax(rows[:, at], -1)


def emptied(rows, at):
    kept = rows.clone()
    kept[at:] = 0
    return kept * 2


def squashed(x, slope):
    return nn.functional.leaky_relu(x * 2, slope)


def promoted(counts, slope):
    return nn.functional.leaky_relu(counts * slope, slope)


class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 16)
        self.register_buffer("keys", torch.zeros(4, 32, 16))

    def forward(self, x, index):
        new = self.project(x)
        start = index[0]
        end = start + new.shape[1]
        self.keys[:, start:end] = new
        return torch.softmax(x @ self.keys.transpose(1, 2), -1) @ self.keys


keys = Keys()


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(8))
        self.register_buffer("at", torch.tensor(2))

    def forward(self, x):
        self.seen[self.at] += 1
        return x * self.seen


counts = Counts()


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


averaged = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, momentum=None))
around = nn.Sequential(Counted(), nn.ReLU())


def exported(x):
    rows = torch.export.Dim("rows", min=1, max=8)
    return torch.export.export(Cached(), (x,), dynamic_shapes={"x": {0: rows}})


def dictionary(n):
    return {str(k): torch.ones(1) for k in range(n)}
"""

CALLS = {
    "cached": "[(torch.ones(2),), (torch.ones(2),)]",
    "scaled": "[(torch.ones(2), nn.Parameter(torch.ones(n))) for n in range(2, 12)]",
    "filled": "[(dictionary(n), torch.ones(2)) for n in range(4)]",
    "chosen": "(torch.ones(4),)",
    "checked": "(torch.ones(4),)",
    "described": "(torch.ones(4),)",
    "drifting": "[(torch.ones(1, 2), True), (torch.ones(1, 2), False)]",
    "keeps": "(torch.ones(2), torch.tensor(1))",
    "picked": "[(torch.rand(4, 8), torch.tensor(k)) for k in range(2)]",
    "emptied": "(torch.rand(4, 8), torch.tensor(2))",
    "squashed": "(torch.randn(8), torch.tensor(0.1))",
    "promoted": "(torch.arange(8), torch.tensor(0.1, dtype=torch.bfloat16))",
    "keys": "(torch.rand(4, 2, 16), torch.zeros(4, dtype=torch.int64))",
    "counts": "(torch.rand(8),)",
    "averaged": "[(torch.rand(4, 2),)] * 2",
    "around": "[(torch.ones(2),)] * 3",
    "exported": "(torch.ones(1, 2),)",
}


#: The outcome of a way round the read of a value.
AGREES = "Tried: it compiles, and its results agree with eager's"


@pytest.fixture
def explained(write):
    def run(name: str) -> Report:
        inputs = f"\n\ndef example_inputs():\n    return {CALLS[name]}\n"
        write(f"tried_{name}.py", FILE + inputs)
        return explain_named(ExplainRequest.parse(f"tried_{name}.py:{name}"))

    return run


def notes(report: Report, label: str) -> list[str]:
    return [n.detail for s in report.sources for n in s.notes if n.label == label]


def test_an_attribute_that_the_function_itself_writes(explained):
    (fix,) = notes(explained("cached"), "recompile")
    line = FILE.splitlines().index("            self.seen = x.shape") + 1
    assert f"itself writes self.seen (tried_cached.py:{line})" in fix and "in __init__" in fix
    assert fix.endswith("Tried: it is compiled once instead of 2 times.")


def test_the_size_of_a_parameter_and_the_limit(explained):
    """dynamic=True alone does not help, so it is not said; ten compiles are one note."""
    report = explained("scaled")
    (fix,) = notes(report, "recompile")
    assert fix.startswith("The sizes of a Parameter are static: pass it as a plain tensor")
    assert "Or: Set torch._dynamo.config.force_parameter_static_shapes = False" in fix
    assert "Compile with dynamic=True: one" not in fix and "mark_dynamic" not in fix
    assert [item.hints for item in report.breaks] == [(fix,)]
    assert report.counts.recompiles == 7 and report.counts.all_graphs == 8


def test_a_dictionary_that_grows(explained):
    (fix,) = notes(explained("filled"), "recompile")
    assert "Give bag one fixed size from the first call on" in fix and "compiled once" in fix
    assert "No fix is known" not in fix


def test_a_setting_that_ends_a_break(explained):
    (item,) = explained("chosen").breaks
    (hint,) = item.hints
    assert "capture_dynamic_output_shape_ops = True" in hint
    assert hint.endswith("Tried: 1 graph break becomes 0.")


def test_a_check_that_only_raises_is_made_in_the_graph(explained):
    (item,) = explained("checked").breaks
    line = FILE.splitlines().index("    if (x == 0).any():") + 1
    (hint,) = item.hints
    assert f"(line {line})" in hint and "_assert_async(torch.logical_not((x == 0).any()))" in hint
    assert hint.endswith("Tried: 1 graph break becomes 0.")
    assert assert_in_graph(FILE, line + 1) is None


def test_a_check_that_describes_its_error_is_made_in_the_graph(explained):
    (item,) = explained("described").breaks
    (hint,) = item.hints
    assert "torch._assert_async((x > 0).all()). Tried: 1 graph break becomes 0." in hint


def test_a_momentum_ends_the_reading_of_the_count_of_batches(explained):
    (item,) = explained("averaged").breaks
    (hint,) = item.hints
    line = next(n for n, code in enumerate(FILE.splitlines(), 1) if "momentum=None" in code)
    assert hint.startswith(f"Give BatchNorm momentum=0.1 (line {line}): without a number")
    assert hint.endswith("Tried: 1 graph break becomes 0.")


def test_a_momentum_of_none_is_replaced_wherever_a_batchnorm_has_it():
    text = "a, b = (nn.BatchNorm1d(2, momentum=None), f(BatchNorm2d(3, momentum=None)))\n"
    text += "c = nn.Other(momentum=None), nn.BatchNorm1d(2)\n"
    (changed,) = set_momentum(text).lines.items()
    assert changed == (1, text.splitlines()[0].replace("None", "0.1"))
    assert not set_momentum("c = 1\n").lines


@pytest.mark.parametrize(
    "code",
    [
        "if a:\n    y = 1\nelif x.any():\n    raise ValueError",
        "if x.any():\n    raise ValueError\nelse:\n    y = 1",
        "def f(x):\n    if x.any():\n        if a:\n            return 1\n        raise ValueError",
        "try:\n    if x.any():\n        raise ValueError\nexcept ValueError:\n    y = 1",
    ],
)
def test_an_if_that_does_more_than_raise_is_no_check(code):
    line = next(n for n, each in enumerate(code.splitlines(), 1) if "x.any" in each)
    assert assert_in_graph(code, line) is None


LIBRARY = """\
def inverse(x, checked=True):
    if checked:
        if (x == 0).any():
            where = x == 0
            raise ValueError(where)
    return 1 / x


def root(x):
    if (x < 0).any():
        raise ValueError("negative")
    return x**0.5
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("inverse", "It is made only if `checked`: turn that off."),
        ("root", "Make the call before the compiled code, or keep the break."),
    ],
)
def test_a_check_in_a_library_is_no_cond(write, monkeypatch, name, said):
    """torch.cond cannot raise, and the reader cannot change the library's lines."""
    folder = write("site-packages/of_a_library.py", LIBRARY).parent
    monkeypatch.syspath_prepend(folder)
    write(f"uses_{name}.py", f"""\
import of_a_library
import torch


def calls(x):
    return of_a_library.{name}(x * 2) + 1


def example_inputs():
    return (torch.ones(4),)
""")  # fmt: skip
    items = explain_named(ExplainRequest.parse(f"uses_{name}.py:calls")).breaks
    hints = {hint for item in items for hint in item.hints}
    assert [hint.endswith(f"{said} {breaks.NOT_TRIED}") for hint in hints] == [True]


def test_a_recompile_in_pytorchs_file_is_shown_at_the_line_that_leads_there(explained):
    found = [each for each in explained("drifting").findings if each.name == "recompile"]
    (place,) = found[0].places
    assert place.line == FILE.splitlines().index("        return part(x) + 1") + 1
    assert found[0].what.startswith("what this line calls is compiled again")


def test_a_recompile_of_pytorchs_module_is_shown_at_the_readers_line_that_changes(explained):
    """The compiled frame is PyTorch's own, and nothing of the reader's called it."""
    (found,) = (each for each in explained("around").findings if "compile" in each.name)
    line = FILE.splitlines().index("        self.calls += 1") + 1
    assert [str(place) for place in found.places] == [f"tried_around.py:{line}"]
    assert found.what.startswith("the code around this line is compiled again 2 times")


def test_a_line_of_generated_code_is_not_the_readers(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    file = tmp_path / "generated.py"
    code = compile("def call(f):\n    f()", str(file), "exec")
    names = {}
    exec(code, names)
    with pytest.raises(ZeroDivisionError) as raised:
        names["call"](lambda: 1 / 0)
    assert f"{Path(__file__).name}:" in load.find_user_line(raised.value)
    with pytest.raises(TypeError) as raised:
        names["call"](None)
    raised.value.__traceback__ = raised.value.__traceback__.tb_next
    assert load.find_user_line(raised.value) == ""


def test_the_step_that_pytorchs_error_tells_is_taken():
    step = failures._step_from_pytorch("got RuntimeError('No fake. Please use `f.register_fake`.')")
    assert step == "use `f.register_fake` (PyTorch says so; not tried)"
    assert failures._step_from_pytorch("Please report this issue.") == ""


def test_a_compile_that_fails_is_got_round(write):
    """Eager is asked in a fresh process: in this one the failed compile leaves PyTorch broken."""
    inputs = "\n\ndef example_inputs():\n    return (torch.ones(2, 4),)\n"
    path = write("frozen.py", FILE + inputs)
    command = [sys.executable, "-m", "tclab", "explain", "frozen.py:Frozen"]
    environment = {**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "2000"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=path.parent, env=environment, check=False
    )
    line = FILE.splitlines().index("            kept = self.part(x.view(-1, 4))") + 1
    said = f"frozen.py:{line} (kept = self.part(x.view(-1, 4))): it runs, but torch.compile fails"
    assert done.returncode == 1 and said in done.stderr
    assert "fails on it, in AOTAutograd, at view: " in done.stderr
    assert "next: torch.no_grad() in place of torch.inference_mode() (line " in done.stderr
    assert "Tried: it compiles" in done.stderr


def test_a_backend_that_fails_and_falls_back(explained):
    report = explained("keeps")
    (item,) = report.breaks
    assert report.counts.graphs == report.counts.all_graphs == 0
    assert item.location.code == "self.table[:, at] = x"
    assert "self.table.index_copy_(1, at.reshape(1), (x).unsqueeze(1))" in item.hints[0]
    assert item.hints[0].endswith(AGREES)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("picked", "return torch.softmax(rows[:, at], -1)",
         "rows.index_select(1, at.reshape(1)).squeeze(1)"),
        ("emptied", "kept[at:] = 0", "pass a Python number for `at`."),
        ("squashed", "return nn.functional.leaky_relu(x * 2, slope)",
         "pass a Python number for `slope`."),
        ("keys", "self.keys[:, start:end] = new",
         "index_copy_(1, start + torch.arange(new.shape[1], device=self.keys.device), new) (line "),
        ("counts", "self.seen[self.at] += 1", "self.seen[self.at.item()] += 1."),
    ],
)  # fmt: skip
def test_a_value_that_is_read_is_got_round(explained, name, code, said):
    (item,) = explained(name).breaks
    assert item.location.code == code
    (hint,) = item.hints
    assert said in hint and hint.endswith(AGREES)


def test_a_number_that_gives_another_type_is_not_advised(explained):
    (item,) = explained("promoted").breaks
    assert item.location.code == "return nn.functional.leaky_relu(counts * slope, slope)"
    assert item.hints == ()


def test_a_way_round_a_read_is_marked_if_it_was_not_tried():
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"), seconds=0)
    reads = Break("Data dependent operator", explanation="Operator `aten._local_scalar_dense`")
    item, _ = breaks.try_hints(Breaks(breaks=(reads, Break("a generator"))), {}, runner)
    assert item.hints[0].endswith("index with a tensor of shape [1] (Not tried.)")


@pytest.mark.parametrize(
    ("compiled", "compared"),
    [
        (TrialResult(error="GuardOnDataDependentSymNode"), TrialResult(agrees=True)),
        (TrialResult(), TrialResult(agrees=True)),
        (TrialResult(compiles={"m.py:1": 1}, breaks=1), TrialResult(agrees=True)),
        (TrialResult(compiles={"m.py:1": 1}), TrialResult(agrees=False)),
    ],
)
def test_a_way_that_does_not_compile_or_changes_the_results_is_not_said(
    monkeypatch, compiled, compared
):
    monkeypatch.setattr(
        TrialRunner, "_try", lambda _, remedy: compared if remedy.compared else compiled
    )
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    line = "y = rows[at]"
    assert scalars.find_way(runner, line, 1, "aten._local_scalar_dense", breaks_before=1) == ""


def test_an_export_of_one_row(explained):
    with pytest.raises(ExplainError) as raised:
        explained("exported")
    assert "give an example of batch 2 or more. Tried: with 2 it works" in raised.value.next_step


# --------------------------------------------------------------------------- what is not tried


def test_a_change_that_is_enough_is_not_said_again_with_more(write) -> None:
    write(
        "static_.py",
        "import torch\n\n\ndef doubled(x):\n    return x * 2\n\n\n"
        "f = torch.compile(doubled, dynamic=False)\n\n\ndef run(x):\n    return f(x)\n\n\n"
        "def example_inputs():\n    return [(torch.ones(n),) for n in (4, 6, 8)]\n",
    )
    (fix,) = notes(explain_named(ExplainRequest.parse("static_.py:run")), "recompile")
    assert fix.startswith("Compile with dynamic=True")
    assert "Parameter" not in fix


def test_an_object_is_not_tried_and_it_is_said_so():
    report = explain(lambda x: x * 2, [(torch.ones(2),), (torch.ones(3),)])
    (fix,) = notes(report, "recompile")
    assert fix.endswith("(Not tried.)")


def test_without_seconds_nothing_is_tried():
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"), seconds=0)
    assert runner.run(Remedy()) is None and runner.process is None


def test_what_several_functions_need_is_tried_once(monkeypatch):
    asked = []
    result = TrialResult(breaks=1)
    monkeypatch.setattr(TrialRunner, "_try", lambda _, remedy: asked.append(remedy) or result)
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    for words in ("one compile serves all sizes", "a number is then a symbol"):
        assert runner.run(Remedy(words, options={"dynamic": True})) is result
    assert runner.run(Remedy("detach", arguments="detach")) is result
    assert [each.description for each in asked] == ["one compile serves all sizes", "detach"]


def test_a_hint_on_assignments_fits_the_line(monkeypatch, write):
    said = "For the common pattern `if tensor_cond: x = transform(x)`, apply it always."
    code = "def f(x):\n    if x.any():\n        x = x.abs()\n    if x.all():\n        return x\n"
    path = write("branched_.py", code)
    monkeypatch.setattr(source, "files", lambda: {"branched_.py": str(path)})
    for line, kept in ((2, [said]), (4, [])):
        item = Break("", hints=(said,), location=SourceLine("branched_.py", line))
        assert breaks._clean_hints(item) == kept


@pytest.mark.parametrize(("error", "said"), [("", True), ("InductorError: …", False)])
def test_fusion_is_at_fault_only_where_it_helps_to_leave_it_out(monkeypatch, error, said):
    result = TrialResult(error=error, compiles={} if error else {"m.py:1": 1})
    monkeypatch.setattr(TrialRunner, "_try", lambda *_: result)
    monkeypatch.setattr(failing, "read_file", lambda _: "")
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    step = failing._diagnose_stage(runner, "", "Inductor", "").step
    assert "options={'max_fusion_size': 1}" in step and ("is at fault" in step) == said


GRADIENT = "tensor 'x' requires_grad mismatch. expected requires_grad=0"


def test_a_library_s_argument_gets_no_gradient_from_the_reader():
    subject = Subject("f", "tried.py:f", lambda x: x, tuple)
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    own = recompile_remedies.RecompiledFunction(SourceLine("m.py", 1), (GRADIENT,), limited=False)
    for function, count in ((own, 1), (replace(own, in_library=True), 0)):
        assert len([*recompile_remedies.list_remedies(function, subject, runner)]) == count


@pytest.mark.parametrize(("helps", "cause"), [("", fixes.SIZES), ("detach", "")])
def test_only_dynamic_shapes_alone_are_a_fix_for_sizes(monkeypatch, helps, cause):
    """A Parameter has to be detached as well: that is no fix for the sizes of other functions."""
    place = SourceLine("m.py", 1)

    def tried(_, remedy):
        return TrialResult(compiles={str(place): 1 if remedy.arguments == helps else 2})

    monkeypatch.setattr(TrialRunner, "_try", tried)
    size = "tensor 'x' size mismatch at index 0. expected 8, actual 9"
    match = recompile_remedies.SIZE.match(size)
    function = recompile_remedies.RecompiledFunction(place, (size,), limited=False, sizes=(match,))
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    remedies = [*recompile_remedies.list_remedies(function, Subject("f", "", len, tuple), runner)]
    before = TrialResult(compiles={str(place): 2})
    fix = recompiles._find_fix(function, before, remedies, set(), runner)
    assert fix.helped and fix.cause == cause and ("Parameter" in fix.text) == (helps == "detach")


def test_a_remedy_that_failed_is_no_fix_that_was_not_tried(monkeypatch):
    """The time for trials can end after the first one."""
    place, size = SourceLine("m.py", 1), "tensor 'x' size mismatch at index 0. expected 8, actual 9"
    results = iter([TrialResult(compiles={str(place): 2}), None])
    monkeypatch.setattr(TrialRunner, "_try", lambda *_: next(results))
    function = recompile_remedies.RecompiledFunction(
        place, (size,), False, sizes=(recompile_remedies.SIZE.match(size),)
    )
    runner = TrialRunner(ExplainRequest.parse("tried.py:f"))
    remedies = [*recompile_remedies.list_remedies(function, Subject("f", "", len, tuple), runner)]
    before = TrialResult(compiles={str(place): 2})
    fix = recompiles._find_fix(function, before, remedies, set(), runner)
    assert len(remedies) > 1 and fix.text.startswith("Nothing that was tried ends it (Compile with")


def test_sizes_of_older_entries_are_tried(write):
    code = """import torch


def f(x):
    return x * 2


def example_inputs():
    return [(torch.ones(2),), (torch.ones(2, requires_grad=True),), (torch.ones(3),)]
"""
    write("grown_.py", code)
    (fix,) = notes(explain_named(ExplainRequest.parse("grown_.py:f")), "recompile")
    assert fix.startswith("Compile with dynamic=True: one compile serves all sizes. Tried:")


def test_a_function_that_is_skipped_in_any_case_hides_no_fix(write):
    write(
        "skips.py",
        """\
import torch


def breaks(x):
    for _ in range(2):
        with torch.no_grad():
            torch._dynamo.graph_break()
    return x


def f(x):
    return breaks(x) * x.sum()


def example_inputs():
    return [(torch.ones(n),) for n in (4, 5)]
""",
    )
    report = explain_named(ExplainRequest.parse("skips.py:f"))
    assert report.counts.skipped
    fixes_said = [a for each in report.findings if each.name == "recompile" for a in each.actions]
    assert fixes_said and all("dynamic=True: one compile serves" in said for said in fixes_said)
    assert not any("Nothing that was tried" in said for said in fixes_said)


def test_a_trial_that_does_not_end(write, own_trial_process):
    write("endless.py", "while True:\n    pass\n")
    with open_runner(ExplainRequest.parse("endless.py:f")) as runner:
        runner.seconds = 1.0
        assert runner.run(Remedy()) is None
        assert runner.run(Remedy()) is None  # nor is another one begun


def test_a_process_that_ends_is_said(write, own_trial_process):
    write("ends.py", "import os\nos._exit(3)\n")
    with open_runner(ExplainRequest.parse("ends.py:f")) as runner:
        result = runner.run(Remedy())
    assert result is not None and result.error == "the process ended"


# --------------------------------------------------------------------------- words


def test_lines_are_written_another_way():
    text = "mask = one()\nmask[rows, columns] = 0\nwith torch.inference_mode():\n    pass\n"
    (first, second) = list_rewrites(text, 3)
    assert first.lines == {3: "with torch.no_grad():"}
    assert second.lines[2].startswith("mask = mask.index_put((rows, columns,), ")
    assert list_rewrites("x[:1, f(3)] = 0\nx = 1\nd['a'] = (\n 1)\n") == []
    (decorated,) = list_rewrites("@torch.inference_mode()\ndef f():\n    pass\n")
    assert decorated.lines == {1: "@torch.no_grad()"}


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("keys[:, at] = new + 1", "keys.index_copy_(1, at.reshape(1), (new + 1).unsqueeze(1))"),
        ("self.x[self.p] = y", "self.x.index_copy_(0, self.p.reshape(1), (y).unsqueeze(0))"),
        ("x[worst, 1:] = y", "x[:, 1:].index_copy_(0, worst.reshape(1), (y).unsqueeze(0))"),
        ("keys[:1, at] = 0", "keys[:1, :].index_fill_(1, at.reshape(1), 0)"),
    ],
)
def test_a_position_of_no_dimension_becomes_a_vector(line, written):
    assert list_rewrites(line)[0].lines == {1: written}
    at, width = torch.tensor(2), 3 if "worst" in line or ":, at" in line else 4
    names = {"at": at, "worst": at, "new": torch.rand(width), "y": torch.rand(width)}
    names |= {"keys": torch.rand(3, 4), "x": torch.rand(3, 4)}
    names["self"] = SimpleNamespace(x=names["x"], p=at)
    other = copy.deepcopy(names)
    before = copy.deepcopy(names)
    exec(line, names)
    exec(written, other)
    assert torch.equal(names["x"], other["x"]) and torch.equal(names["keys"], other["keys"])
    assert not (torch.equal(names["x"], before["x"]) and torch.equal(names["keys"], before["keys"]))


OWN = """\
import torch

net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def resume(x):
    again = torch.nn.Linear(2, 2)
    again.load_state_dict(torch.compile(net).state_dict())
    return again(x)


def scheduled(x):
    compiled = torch.compile(opt.step)
    opt.step = compiled
    if True:
        torch.optim.lr_scheduler.LinearLR(opt)
    net(x).sum().backward()
    opt.step()
    return x


def example_inputs():
    return (torch.ones(2, 2),)
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resume", "compile the module in place, module.compile()"),
        ("scheduled", "types.MethodType("),
    ],
)
def test_an_object_that_is_compiled_in_place_stays_what_it_is(write, name, said):
    write("own.py", OWN)
    with pytest.raises(ExplainError) as caught:
        explain_named(ExplainRequest.parse(f"own.py:{name}"))
    assert said in str(caught.value) and "Tried: it does not raise" in str(caught.value)


def test_a_compile_is_moved_behind_the_line_that_fails():
    text = "    o.step = torch.compile(o.step)\n    make(o)\n    o.step()\n"
    (moved,) = move_compiles(text, 2)
    assert moved.lines == {1: "    pass", 2: "    make(o)\n    o.step = torch.compile(o.step)"}


def test_a_number_that_became_a_symbol(write):
    code = "import torch\n\n\ndef f(x, n):\n    return x * n\n\n\ndef example_inputs():\n"
    write("numbers_.py", f"{code}    return [(torch.ones(2), n) for n in (3, 5, 7)]\n")
    (fix,) = notes(explain_named(ExplainRequest.parse("numbers_.py:f")), "recompile")
    assert fix == (
        "Compile with dynamic=True: a number is then a symbol. "
        "Tried: it is compiled once instead of 2 times."
    )
    assert recompile_remedies.NUMBER.match("n == 3")


# --------------------------------------------------------------------------- one by one

LAYERS = """\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number, self.label = number, f"layer {number}"

    def forward(self, x, stores):
        return x * stores[self.number]


layers = [torch.compile(Layer(n), backend="eager") for n in range(9)]


def run(x, stores):
    for layer in layers:
        x = layer(x, stores)
    return x


def example_inputs():
    return (torch.ones(2), [torch.ones(2) for _ in layers])
"""


def test_parts_that_are_told_apart_by_a_number(write):
    write("one_by_one.py", LAYERS)
    report = explain_named(ExplainRequest.parse("one_by_one.py:run"))
    ((text, fix),) = [(n.text, n.detail) for s in report.sources for n in s.notes
                      if n.label == "recompile"]  # fmt: skip
    assert text.endswith("(0/1 to 0/7): self.number has 8 values: 0, 1, 2, 3, …")
    assert "label" not in text
    assert "isolate_recompiles=True): each object then has a limit of its own. Tried: " in fix
    assert fix.endswith(
        "Compile the whole once, in place of its parts. Tried: compiles: 1 in place of 8."
    )


TWICE = """
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 64), nn.Linear(64, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def once(self, x):
        for layer in self.layers:
            x = checkpoint(CALLED, x, use_reentrant=False)
        return x

    def forward(self, x):
        return (self.once(x) * self.once(x + 1)).mean()


def example_inputs():
    return (torch.ones(16, 8),)
"""


@pytest.mark.parametrize(
    ("called", "fixed"),
    [
        pytest.param("layer", True, marks=pytest.mark.nightly, id="module"),
        pytest.param("lambda y: layer(y)", False, id="lambda"),
    ],
)
def test_checkpointed_blocks_are_compiled_one_by_one(write, called, fixed):
    write("twice.py", "import torch\nfrom torch import nn\n" + TWICE.replace("CALLED", called))
    report = explain_named(ExplainRequest.parse("twice.py:Twice", backward=True))
    (finding,) = (each for each in report.findings if each.name == "checkpointing")
    actions = " ".join(finding.actions)
    assert ("are compiled, no backward holds more than one region" in actions) == fixed
    assert bool(actions) == fixed  # a function that is no module is not compiled, nothing is said
