"""Helpers of three projects, and the same tests with the plugin: what each catches of eight edits.

The helpers are written anew from the idea of each original, as short as they go. vLLM's counts
what its own compiler is given; here a backend counts. pytest runs in this process, once for each
state of a small package. The kernels are those of an H200, which is not here.
"""
# tclab: needs=triton timeout=300

import contextlib
import io
import linecache
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import tclab

MODEL = """\
import torch
from otherlib import halved
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.distance = 2

    def forward(self, x):
        h = self.linear(x.float())
        h = torch.relu(halved(h))
        return h + x + torch.arange(64) * self.distance


def calls():
    return [(torch.ones(8, 64),), (torch.ones(8, 64),)]
"""
LIBRARY = """\
def halved(h):
    return h / 2
"""
TABPFN = """\
import logging
import re
from pathlib import Path

import mypkg
import torch
from mypkg.model import Block, calls

OWN = str(Path(mypkg.__file__).parent)


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def own_breaks(fn, calls):
    records, logger = Records(), logging.getLogger("torch._dynamo")
    torch.compiler.reset()
    torch._logging.set_logs(graph_breaks=True)
    logger.addHandler(records)
    try:
        for call in calls:
            torch.compile(fn, backend="eager")(*call)
    finally:
        logger.removeHandler(records)
        torch._logging.set_logs()
    found = []
    for text in "\\n".join(records.texts).split("Graph break in user code")[1:]:
        frames = re.findall(r'File "([^"]+)", line (\\d+)', text)
        if frames and frames[-1][0].startswith(OWN):
            found.append(frames[-1])
    return found


def test_no_break_in_own_code():
    found = own_breaks(Block(), calls())
    assert not found
"""
TABPFN_WITH = """\
import pytest
import torch
from mypkg.model import Block, calls


@pytest.mark.compiled(max_breaks=BREAKS, within="mypkg")
def test_no_break_in_own_code():
    for call in calls():
        torch.compile(Block(), backend="eager")(*call)
"""
DIFFUSERS = """\
import torch
from mypkg.model import Block, calls


class CompileMixin:
    def setup_method(self):
        torch.compiler.reset()

    def teardown_method(self):
        torch.compiler.reset()

    def test_no_break_and_no_recompile(self):
        model = torch.compile(self.model(), backend="eager", fullgraph=True)
        with torch._dynamo.config.patch(error_on_recompile=True):
            for call in calls():
                model(*call)


class TestBlock(CompileMixin):
    model = Block
"""
DIFFUSERS_WITH = """\
from mypkg.model import Block, calls


def test_no_break_and_no_recompile(compiled):
    c = compiled(Block(), calls(), level="dynamo")
    c.expect(breaks=BREAKS, recompiles=0)
"""
VLLM = """\
import contextlib

import torch
from mypkg.model import Block, calls


class Counter:
    def __init__(self):
        self.graphs = 0

    def backend(self, graph, inputs):
        self.graphs += 1
        return graph.forward

    @contextlib.contextmanager
    def expect(self, graphs):
        before = self.graphs
        yield
        assert self.graphs - before == graphs


def test_as_many_graphs():
    counter = Counter()
    torch.compiler.reset()
    model = torch.compile(Block(), backend=counter.backend)
    with counter.expect(graphs=BREAKS + 1):
        for call in calls():
            model(*call)
"""
VLLM_WITH = """\
from mypkg.model import Block, calls


def test_as_many_graphs(compiled):
    c = compiled(Block(), calls(), target="h200")
    c.matches()
"""
TESTS = {
    "TabPFN": TABPFN, "TabPFN, plugin": TABPFN_WITH,
    "diffusers": DIFFUSERS, "diffusers, plugin": DIFFUSERS_WITH,
    "vLLM": VLLM, "vLLM, plugin": VLLM_WITH,
}  # fmt: skip
PRINT = ("        h = torch.relu", '        print("h", h.shape)\n        h = torch.relu')
EDITS = {
    "a print": PRINT,
    "a new .item()": ("return h + x", "return h * h.max().item() + x"),
    "a config value becomes a float": ("distance = 2", "distance = 2.0"),
    "a second dtype": ("ones(8, 64),)]", "ones(8, 64, dtype=torch.float16),)]"),
    "a view ends a fusion": ("halved(h))", "halved(h)).t().reshape(8, 64)"),
    "a break in a helper library": ("    return", '    print("h", h.shape)\n    return'),
    "a comment only": ("        return", "        # a residual\n        return"),
}
REMOVED = "a break removed"
FLAGS = (
    *("-p", "torch_compile_lab_pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short"),
    # Both collect garbage after each run, which is slow once PyTorch is loaded.
    *("-p", "no:unraisableexception", "-p", "no:threadexception"),
    *("-W", "ignore", "-W", "always::tclab.fixture.compiled.CompiledWarning"),
)
folder = Path(tempfile.mkdtemp())
(folder / "mypkg").mkdir()
(folder / "mypkg" / "__init__.py").touch()
# Two states of a module may have one size and one second, by which Python tells bytecode apart.
sys.dont_write_bytecode = True


class Outcomes:
    """What became of each file's test, and what a failure says."""

    def __init__(self):
        self.of, self.said = {}, {}

    def pytest_runtest_logreport(self, report):
        file = report.nodeid.partition("::")[0]
        if report.failed:
            self.of[file], self.said[file] = "fails", report.longreprtext
        elif report.when == "call":
            self.of[file] = "passes"

    def pytest_warning_recorded(self, warning_message, nodeid):
        self.of[nodeid.partition("::")[0]] = "warns"


def ran(model, library=LIBRARY, breaks=0, words=(), tests=TESTS):
    """What became of each test, and what it says where it fails; `breaks` are those expected."""
    (folder / "mypkg" / "model.py").write_text(model)
    (folder / "otherlib.py").write_text(library)
    files = {name: f"test_{at}.py" for at, name in enumerate(TESTS)}
    for name, code in tests.items():
        (folder / files[name]).write_text(code.replace("BREAKS", str(breaks)))
    for name in [name for name in sys.modules if name.startswith(("mypkg", "otherlib", "test_"))]:
        del sys.modules[name]
    linecache.clearcache()
    outcomes = Outcomes()
    command = [*FLAGS, f"--rootdir={folder}", *words, *(str(folder / files[e]) for e in tests)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(command, plugins=[outcomes])
    return (
        {name: outcomes.of[files[name]] for name in tests},
        {name: outcomes.said.get(files[name], "") for name in tests},
    )


update = ("--compiled-update",)
whole, _ = ran(MODEL, words=update)
became, said = {}, {}
for edit, change in EDITS.items():
    library = LIBRARY.replace(*change) if "library" in edit else LIBRARY
    model = MODEL if "library" in edit else MODEL.replace(*change)
    became[edit], said[edit] = ran(model, library)
reworded = {"TabPFN": TABPFN.replace("break in user code", "break in your code")}
unread, _ = ran(MODEL.replace(*PRINT), tests=reworded)
shutil.rmtree(folder / "compiled")
broken, _ = ran(MODEL.replace(*PRINT), breaks=1, words=update)
became[REMOVED], said[REMOVED] = ran(MODEL, breaks=1)
for name in TESTS:
    if broken[name] == "fails":
        became[REMOVED][name] = "fails before it, too"
lines = {name: sum(map(bool, code.splitlines())) for name, code in TESTS.items()}

for name, code in TESTS.items():
    whose, _, plugin = name.partition(", ")
    title = f"As {whose} does it, with the plugin" if plugin else f"As {whose} does it"
    tclab.show(code.replace("BREAKS + 1", "1").replace("BREAKS", "0"), title=title,
               name=name.lower().replace(", ", "-"))  # fmt: skip
tclab.show(
    tclab.Table(
        title="Which tests fail",
        name="caught",
        columns=("edit", *TESTS),
        rows=[
            *((edit, *of.values()) for edit, of in became.items()),
            ("lines of code", *lines.values()),
        ],
    )
)


def missed(name):
    """The edits that a test lets pass without a word, but for the comment, which it should."""
    others = [edit for edit in became if edit != "a comment only"]
    return [edit for edit in others if became[edit][name] == "passes"]


ITEM, FLOAT, VIEW = "a new .item()", "a config value becomes a float", "a view ends a fusion"
DTYPE, THEIRS = "a second dtype", "a break in a helper library"
PLUGIN = [name for name in TESTS if name.endswith("plugin")]

# claim: each-passes-before-the-edits
assert set(whole.values()) == {"passes"}
# claim: a-comment-fails-none
assert set(became["a comment only"].values()) == {"passes"}
# claim: a-print-fails-each
assert set(became["a print"].values()) == {"fails"}
# claim: the-log-of-own-breaks-misses-the-rest
assert missed("TabPFN") == [FLOAT, DTYPE, VIEW, THEIRS]
# claim: the-marker-misses-them-too
assert missed("TabPFN, plugin") == [*missed("TabPFN"), REMOVED]
# claim: another-wording-hides-the-print
assert unread["TabPFN"] == "passes"
# claim: fullgraph-lets-an-item-pass, torch >= 2.13
assert missed("diffusers") == [ITEM, FLOAT, VIEW]
# claim: expect-sees-the-item
assert missed("diffusers, plugin") == [FLOAT, VIEW]
# claim: a-count-of-graphs-misses-a-float-and-a-view
assert missed("vLLM") == [FLOAT, VIEW]
# claim: a-count-names-no-line
assert "model.py" not in said["a print"]["vLLM"]
# claim: the-plugin-names-the-line
assert all('model.py:14: print("h", h.shape)' in said["a print"][name] for name in PLUGIN)
# claim: a-file-misses-none
assert missed("vLLM, plugin") == []
kernels = [said[VIEW]["vLLM, plugin"].count(f"kernel, {what}:") for what in ("new", "gone")]
# claim: the-view-costs-a-kernel
assert kernels[0] == kernels[1] + 1
text = said[FLOAT]["vLLM, plugin"]
# claim: the-float-costs-none
assert "kernel, other code:" in text and "kernel, new:" not in text
# claim: two-cannot-hold-a-model-that-breaks
assert [name for name, end in broken.items() if end == "fails"] == ["TabPFN", "diffusers"]
# claim: a-break-removed-is-a-warning
assert became[REMOVED]["vLLM, plugin"] == "warns"
# claim: and-fails-a-number-that-is-exact
assert became[REMOVED]["vLLM"] == became[REMOVED]["diffusers, plugin"] == "fails"
# claim: each-is-shorter-with-it
assert all(lines[f"{name}, plugin"] < lines[name] for name in ("TabPFN", "diffusers", "vLLM"))
