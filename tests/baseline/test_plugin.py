"""The pytest plugin in a suite of its own: what passes, what fails, what it says and writes."""

from __future__ import annotations

import json
import linecache
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.pytester import SysModulesSnapshot

from tclab.baseline import ratio

pytest_plugins = ["pytester"]

MODEL = """\
import torch
import helper

def f(x):
    y = torch.relu(x) + 1
    #BREAK
    return helper.scaled(y).sum()
"""
HELPER = """\
def scaled(x):
    #BREAK
    return x * 2
"""
SUITE = """\
import torch
from mypkg.model import f

X8, X12 = torch.ones(8), torch.ones(12)

def test_forward(compiled):
    c = compiled(f, [(X8,), (X12,)], level={level!r}, within={within!r})
    c.matches()
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """A package with a model and a helper library, and a test of it; `run` runs it in this process,
    where PyTorch, once imported, cannot be imported again.
    """
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    kept = SysModulesSnapshot(lambda name: not name.startswith(("test_", "mypkg", "helper")))
    monkeypatch.setattr(pytester, "_Pytester__take_sys_modules_snapshot", lambda: kept)
    monkeypatch.setattr(pytester, "_sys_modules_snapshot", kept)
    pytester.mkpydir("mypkg")
    pytester.syspathinsert()
    return Suite(pytester)


class Suite:
    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path
        self.write()
        self.test()

    def write(self, model: str = "", helper: str = "") -> None:
        """The model and the helper with a line in the place of the comment."""
        code = MODEL.replace("#BREAK", model or "pass")
        (self.path / "mypkg" / "model.py").write_text(code)
        (self.path / "helper.py").write_text(HELPER.replace("#BREAK", helper or "pass"))
        for name in ("mypkg.model", "mypkg", "helper"):
            sys.modules.pop(name, None)
        linecache.clearcache()

    def test(self, level: str = "dynamo", within: str = "", code: str = "") -> None:
        text = code or SUITE.format(level=level, within=within)
        (self.path / "test_it.py").write_text(text)

    def run(self, *words: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(
            "-p", "torch_compile_lab_pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *words
        )

    def files(self) -> dict[str, str]:
        return {p.name: p.read_text() for p in (self.path / "compiled").glob("*")}


def test_without_a_file_it_fails_and_writes_nothing(suite) -> None:
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *test_it.test_forward: there is no file to compare with",
                                 "E *next: say --compiled-update to write *"])  # fmt: skip
    assert not suite.files()


def test_a_break_more_fails_with_the_line_the_reason_and_the_fix(suite) -> None:
    suite.run("--compiled-update").assert_outcomes(passed=1)
    (name,) = before = suite.files()
    assert re.fullmatch(r"test_it\.test_forward\.torch2\.\d+\.json", name)
    suite.run().assert_outcomes(passed=1)
    suite.write(model="print('here')")
    result = suite.run("--compiled-report=out")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        f"E *test_it.test_forward: * worse than {name}",
        "E *graph break, new: GB0059 at print('here') in model.py",
        "E *model.py:6: print('here')",
        "E *reason: *",
        "E *fix: *print*",
        "E *next: mend it; or, where it is meant, say --compiled-update",
        "E *report: out/test_it.test_forward.html",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*Captured log*")
    assert suite.files() == before
    assert "GB0059" in (suite.path / "out" / "test_it.test_forward.html").read_text()


def test_a_comment_changes_nothing(suite) -> None:
    suite.run("--compiled-update")
    suite.write(model="# a comment\n    # and another")
    suite.run("-W", "error::tclab.baseline.compiled.CompiledWarning").assert_outcomes(passed=1)


def test_better_passes_and_asks_and_is_strict_on_request(suite) -> None:
    suite.write(model="print('here')")
    suite.run("--compiled-update").assert_outcomes(passed=1)
    suite.write()
    result = suite.run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*better: graph break, gone: GB0059*"])
    suite.run("--compiled-strict").assert_outcomes(failed=1)
    suite.run("--compiled-update").assert_outcomes(passed=1)
    suite.run("--compiled-strict").assert_outcomes(passed=1)


def test_breaks_of_other_packages_are_listed_and_do_not_count(suite) -> None:
    code = SUITE.format(level="dynamo", within="mypkg").replace("[(X8,), (X12,)]", "X8")
    suite.test(code=code)
    suite.run("--compiled-update")
    suite.write(helper="print('theirs')")
    suite.run("-W", "error::tclab.baseline.compiled.CompiledWarning").assert_outcomes(passed=1)
    suite.test(code=code.replace("c.matches()", "c.expect(breaks=0, recompiles=7)"))
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *recompiles: 0, expected 7"])
    result.stdout.fnmatch_lines(["E *in other code, not counted: GB0059 at print('theirs')*"])
    result.stdout.no_fnmatch_line("*graph breaks:*")


def test_another_size_is_a_recompile_with_its_guard(suite) -> None:
    suite.test(code=SUITE.replace("c.matches()", "c.expect(recompiles=0)").format(
        level="dynamo", within=""))  # fmt: skip
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *recompiles: 1, expected 0", "E *size mismatch at index 0*"])


def test_kernels_are_not_expected_of_a_level_that_compiles_none(suite) -> None:
    suite.test(code=SUITE.replace("c.matches()", "c.expect(kernels=1)").format(
        level="graphs", within=""))  # fmt: skip
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*it compiles no kernels*"])


def test_seconds_are_a_ratio_to_a_small_compile(suite) -> None:
    code = SUITE.format(level="dynamo", within="")
    suite.test(code=code.replace("c.matches()", "c.expect(compile_ratio=1e6)"))
    suite.run().assert_outcomes(passed=1)
    suite.test(code=code.replace("c.matches()", "c.expect(breaks=0, compile_ratio=0.001)"))
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r".*compile: \d.* times a small one's, expected at most 0.001"])


def test_the_ratio_is_of_rounds_in_turns_after_one_that_does_not_count() -> None:
    order: list[str] = []
    seconds = {"a": iter([99.0, 6.0, 2.0, 8.0]), "b": iter([0.1, 2.0, 2.0, 2.0])}

    def compiles(name: str) -> float:
        order.append(name)
        return next(seconds[name])

    assert ratio.ratio(lambda: compiles("a"), lambda: compiles("b")) == 3.0
    assert order == ["a", "b"] * 4


def test_graphs_show_another_operator(suite) -> None:
    suite.test(level="graphs")
    suite.run("--compiled-update").assert_outcomes(passed=1)
    suite.write(model="y = torch.sin(y)")
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *graph, forward 0: aten.sin: 0 to 1"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("y.sum().item()", "graph break, new: GB0124 at y.sum().item() in model.py"),
        ("y = y * 2.5", "graph, forward 0: aten.mul: 1 to 2"),
        ("y = y.sin().cos().tan().exp()", "graph, forward: and 1 more"),
    ],
)
def test_each_change_is_named(suite, line: str, said: str) -> None:
    suite.test(code=SUITE.format(level="graphs", within="").replace("[(X8,), (X12,)]", "X8"))
    suite.run("--compiled-update").assert_outcomes(passed=1)
    suite.write(model=line)
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *{said}"])


def test_a_second_dtype_is_a_recompile_of_the_function(suite) -> None:
    suite.run("--compiled-update").assert_outcomes(passed=1)
    code = SUITE.format(level="dynamo", within="")
    suite.test(code=code.replace("torch.ones(12)", "torch.ones(8, dtype=torch.float64)"))
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *recompile, new: *dtype mismatch*, in f of model.py",
                                 "E *fix: *"])  # fmt: skip


def older(suite: Suite) -> None:
    """The file as if an older PyTorch had written it."""
    (path,) = (suite.path / "compiled").glob("*")
    data = json.loads(path.read_text())
    path.with_name("test_it.test_forward.torch2.9.json").write_text(json.dumps(data))
    path.unlink()


def test_what_differs_from_an_older_pytorchs_file_is_not_the_users_fault(suite) -> None:
    suite.run("--compiled-update")
    older(suite)
    suite.run("-W", "error::tclab.baseline.compiled.CompiledWarning").assert_outcomes(passed=1)
    suite.write(model="print('here')")
    result = suite.run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*test_it.test_forward: changed by PyTorch, 2.9 to *",
                                 "*graph break, new: GB0059*"])  # fmt: skip
    suite.run("--compiled-new-torch=fail").assert_outcomes(failed=1)
    suite.run("--compiled-update").assert_outcomes(passed=1)
    assert len(suite.files()) == 2


def test_a_newer_pytorchs_file_is_not_read(suite) -> None:
    suite.run("--compiled-update")
    older(suite)
    path = suite.path / "compiled" / "test_it.test_forward.torch2.9.json"
    path.rename(path.with_name("test_it.test_forward.torch99.0.json"))
    suite.run().assert_outcomes(failed=1)


def test_files_that_no_test_uses_are_listed(suite) -> None:
    suite.run("--compiled-update")
    suite.run("--compiled-unused").assert_outcomes(passed=1)
    (suite.path / "compiled" / "test_it.test_gone.torch2.13.json").write_text("{}")
    result = suite.run("--compiled-unused")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*files of compiles that no test used*",
                                 "compiled/test_it.test_gone.torch2.13.json"])  # fmt: skip
    assert suite.run().ret == 0


def test_a_failure_is_in_githubs_summary_and_annotated(suite, monkeypatch) -> None:
    suite.run("--compiled-update")
    suite.write(model="print('here')")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = suite.run()
    result.stdout.fnmatch_lines(["::error title=test_it.py::test_forward::*GB0059*"])
    assert "| `test_it.py::test_forward` |" in (suite.path / "summary.md").read_text()


MARKED = """\
import pytest, torch
from mypkg.model import f

compiled_once = torch.compile(f, backend="eager")

@pytest.mark.compiled(max_breaks=0, max_recompiles=0, within={within!r})
@pytest.mark.parametrize("again", [0, 1])
def test_step(again):
    compiled_once(torch.ones(8))
"""


def test_a_marked_test_is_held_to_its_limits_also_where_another_compiled_before(suite) -> None:
    suite.test(code=MARKED.format(within=""))
    suite.run().assert_outcomes(passed=2)
    suite.write(helper="print('theirs')")
    result = suite.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["graph breaks: *, at most 0", "*GB0059 at print('theirs')*"])
    suite.test(code=MARKED.format(within="mypkg"))
    suite.run().assert_outcomes(passed=2)


def test_a_marked_test_that_fails_fails_by_itself(suite) -> None:
    code = MARKED.format(within="").replace("compiled_once(torch.ones(8))", "assert 0, 'mine'")
    suite.test(code=code)
    result = suite.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*mine*"])


def test_nothing_is_left_changed(suite) -> None:
    suite.test(code=UNTOUCHED)
    suite.run("--compiled-update").assert_outcomes(passed=2)


UNTOUCHED = """\
import logging
import pytest, torch

def state():
    from torch._dynamo.eval_frame import _stance
    configs = torch._dynamo.config, torch._inductor.config, torch._functorch.config
    return (
        [config.save_config_portable() for config in configs], str(_stance),
        torch.get_rng_state().tolist(), torch.is_grad_enabled(), torch.get_default_dtype(),
        {name: (logger.level, len(logger.handlers), logger.propagate)
         for name, logger in logging.root.manager.loggerDict.items()
         if isinstance(logger, logging.Logger) and name.startswith("torch")},
    )

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)
    def forward(self, x):
        return torch.dropout(self.norm(self.linear(x)), 0.5, True)

def test_fixture(compiled):
    net, x = Net(), torch.randn(8, 4)
    compiled(net, x, backward=True)
    net.linear.weight.grad = grad = torch.ones(4, 4)
    before, mean = state(), net.norm.running_mean.clone()
    compiled(net, x, backward=True)
    compiled(net, x, level="dynamo")
    assert state() == before
    assert net.linear.weight.grad is grad and torch.equal(grad, torch.ones(4, 4))
    assert torch.equal(net.norm.running_mean, mean) and net.norm.num_batches_tracked == 0

calls = []
compiled_once = torch.compile(lambda x: x + 1, backend=lambda gm, _: calls.append(1) or gm)

@pytest.fixture
def around():
    compiled_once(torch.ones(3))
    before = state()
    yield
    assert state() == before
    compiled_once(torch.ones(3))
    assert len(calls) == 2

@pytest.mark.compiled(max_breaks=0)
def test_marker(around):
    compiled_once(torch.ones(3))
"""


def test_a_suite_that_does_not_use_it_imports_neither_torch_nor_tclab(suite) -> None:
    suite.test(code="import sys\ndef test_it():\n"
                    "    assert not {'torch', 'tclab'} & set(sys.modules)\n")  # fmt: skip
    words = ["-p", "torch_compile_lab_pytest", "-p", "no:cacheprovider", str(suite.path)]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=suite.path, check=False,
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stdout


NAMES = """\
import pytest, torch

def f(x):
    return x + 1

class TestNet:
    @pytest.mark.parametrize("size", [2, 3], ids=["a/b", "A/B"])
    def test_it(self, compiled, size):
        compiled(f, torch.ones(size), level="dynamo").matches()
        compiled(f, torch.ones(size), level="dynamo").matches()
        compiled(f, torch.ones(size), level="dynamo", name="named").matches()
"""


def test_names_are_apart_on_every_system(suite) -> None:
    suite.test(code=NAMES)
    suite.run("--compiled-update").assert_outcomes(passed=2)
    names = [*suite.files()]
    assert len({name.lower() for name in names}) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in names)
    suite.run().assert_outcomes(passed=2)


KERNELS = SUITE.replace("level={level!r}", "target='h200'")


def test_a_fusion_that_is_lost_for_a_gpu_that_is_not_here(suite) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    suite.test(code=KERNELS.format(within=""))
    suite.run("--compiled-update").assert_outcomes(passed=1)
    suite.run("-W", "error::tclab.baseline.compiled.CompiledWarning").assert_outcomes(passed=1)
    suite.write(model="y = y.cumsum(0).sin()")
    result = suite.run("--compiled-report=out")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *kernel, *"])
    page = Path(suite.path / "out" / "test_it.test_forward.html").read_text()
    assert "tl.load" in page
