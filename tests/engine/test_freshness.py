"""A run is fresh while every file that it rests on is as it was: each is edited, one at a time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from importlib import metadata
from pathlib import Path

import pytest

from tclab.errors import RecordingError
from tclab.site.engine import job
from tclab.site.store import checksums
from tclab.system import installed
from tests.lab import know_cpu

SRC = Path(__file__).resolve().parents[2] / "src"

#: Run in a process of its own, whose tclab is a copy: edits each file that the run of t/one rests
#: on, and every module of tclab that only draws, and prints the state that each edit leads to.
EDIT_EACH = """
import json, sys
from pathlib import Path
from tclab.site import snippets
from tclab.site.engine.plan import Plan
from tclab.site.store import dependencies

root, src = Path.cwd(), Path(sys.argv[1])
snippet = snippets.get("t/one", root)

def state():
    return Plan(root).local_status(snippet)

def edited(name):
    path = (root if dependencies.is_project_file(name) else src) / name
    before = path.read_bytes()
    path.write_bytes(before + b"\\n# edited\\n")
    try:
        status = state()
    finally:
        path.write_bytes(before)
    return [status.state, *status.why]

run = state().run()
drawing = [p.relative_to(src).as_posix() for p in (src / "tclab/render").rglob("*.py")]
states = {name: edited(name) for name in [*run.rests_on, *drawing]}
print(json.dumps({"before": state().state, "rests_on": list(run.rests_on), "states": states}))
"""

#: Prints how each snippet stands.
STATES = """
import json
from tclab.site import snippets
from tclab.site.engine.plan import Plan
from pathlib import Path

root = Path.cwd()
plan = Plan(root)
print(json.dumps({each.name: plan.local_status(each).state for each in snippets.find(root)}))
"""


class Copy:
    """A project with one snippet, and a copy of tclab to edit, which lies in it as in a clone."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.src = self.project / "src"
        shutil.copytree(SRC, self.src, ignore=shutil.ignore_patterns("__pycache__"))
        (self.project / "snippets/t").mkdir(parents=True)
        (self.project / "mkdocs.yml").touch()

    def write(self, name: str, code: str) -> None:
        (self.project / "snippets/t" / name).write_text(textwrap.dedent(code))

    def python(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.src)}
        environment.pop("TCLAB_STORE", None)
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def edit_each(self) -> dict:
        """Run t/one, then edit."""
        self.python("-m", "tclab", "run", "t/one")
        return json.loads(self.python("-c", EDIT_EACH, str(self.src)))

    def states(self) -> dict[str, str]:
        """Return how each snippet stands."""
        return json.loads(self.python("-c", STATES))


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_each_file_that_was_imported_makes_the_run_stale_and_none_that_only_draws(copy: Copy):
    copy.write("_shared.py", "from _below.deep import value\n")
    (copy.project / "snippets/t/_below").mkdir()
    copy.write("_below/__init__.py", "")
    copy.write("_below/deep.py", "from .deeper import value\n")
    copy.write("_below/deeper.py", "value = 1\n")
    copy.write(
        "one.py",
        '''
        """Shows something."""
        import tclab
        from _shared import value
        from tclab.workshop.bench.rows import Row
        tclab.show(f"{Row.__name__} {value}")
        ''',
    )
    seen = copy.edit_each()
    assert seen["before"] == "fresh"
    rests_on = set(seen["rests_on"])
    below = {"__init__.py", "deep.py", "deeper.py"}
    local = {"snippets/t/_shared.py", *(f"snippets/t/_below/{name}" for name in below)}
    assert {name for name in rests_on if name.startswith("snippets/")} == local
    assert {"tclab/workshop/bench/rows.py", "tclab/display.py", "tclab/model/runs.py"} <= rests_on
    assert {"tclab/text/user_lines.py", "tclab/workshop/verify/sides.py"}.isdisjoint(rests_on)
    for name in rests_on:
        assert seen["states"][name] == ["stale", f"{name} changed"]
    drawing = {name for name in seen["states"] if name.startswith("tclab/render/")}
    assert len(drawing) > 30
    assert {tuple(seen["states"][name]) for name in drawing} == {("fresh",)}


def test_a_process_that_the_snippet_starts_counts_too(copy: Copy):
    copy.write(
        "one.py",
        '''
        """Shows something."""
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import tclab.workshop.bench.statistics"], check=True)
        ''',
    )
    seen = copy.edit_each()
    assert "tclab/workshop/bench/statistics.py" in seen["rests_on"]
    assert "tclab/workshop/bench/suites.py" not in seen["rests_on"]
    assert seen["states"]["tclab/workshop/bench/statistics.py"] == [
        "stale",
        "tclab/workshop/bench/statistics.py changed",
    ]


def test_what_captures_counts_for_every_run(copy: Copy):
    """A process that the snippet started and that was killed has said nothing."""
    copy.write("one.py", '"""Shows something."""\nprint(1)\n')
    seen = copy.edit_each()
    capturing = {
        path.relative_to(SRC).as_posix() for path in (SRC / "tclab/capturing").rglob("*.py")
    }
    assert capturing <= set(seen["rests_on"])


def test_the_choices_that_a_capture_for_a_target_asked_for_count(copy: Copy):
    """Those of its own device and version, also where there are none yet."""
    version = ".".join(metadata.version("torch").split(".")[:2])
    choices, later = (
        copy.project / f"records/{name}-torch{version}/padding.json" for name in ("h200", "a100")
    )
    choices.parent.mkdir(parents=True)
    shutil.copyfile(SRC.parent / "records/h200-torch2.11/padding.json", choices)
    capture = (
        '"""Shows something."""\nimport tclab, torch\ntclab.capture(torch.relu{})(torch.ones(8))'
    )
    for name, target in (("h200", ", target='h200'"), ("a100", ", target='a100'"), ("here", "")):
        copy.write(f"{name}.py", capture.format(target))
    know_cpu(copy.project / ".tclab/cache")
    copy.python("-m", "tclab", "run", "t/h200", "t/a100", "t/here")
    assert copy.states() == {"t/a100": "fresh", "t/h200": "fresh", "t/here": "fresh"}
    choices.write_text(choices.read_text().replace("2026", "2027"))
    assert copy.states() == {"t/a100": "fresh", "t/h200": "stale", "t/here": "fresh"}
    later.parent.mkdir()
    shutil.copyfile(choices, later)
    assert copy.states() == {"t/a100": "stale", "t/h200": "stale", "t/here": "fresh"}


def test_an_edit_while_it_runs_makes_that_run_stale(lab):
    """What was imported may be the file before or after it: neither is vouched for."""
    helper = lab.root / "snippets/t/_later.py"
    helper.parent.mkdir()
    helper.write_text("value = 1\n")
    snippet = lab.write(
        "t/one",
        f"""
        from importlib import import_module
        open({str(helper)!r}, "w").write("value = 2")
        print(import_module("_" + "later").value)
        """,
    )
    assert lab.run(snippet)["t/one"].stdout == "2\n"
    assert lab.plan().local_status(snippet).state == "stale"


def test_a_clock_that_was_set_back_is_said(lab, monkeypatch):
    helper = lab.root / "snippets/t/_later.py"
    helper.parent.mkdir()
    helper.write_text("value = 1\n")
    snippet = lab.write("t/one", "from _later import value")
    now = time.time_ns
    monkeypatch.setattr(job.time, "time_ns", lambda: now() - 600 * 10**9)
    assert lab.run(snippet)["t/one"].ok
    (why,) = lab.plan().local_status(snippet).why
    assert why == (
        "snippets/t/_later.py was written after the run began: "
        "edited meanwhile, or this machine's clock was set back"
    )


def test_a_file_beside_it_that_nobody_imports_is_not_read(lab):
    """A reader may check an answer in a folder with everything else below it."""
    (lab.root / "snippets/t").mkdir()
    os.mkfifo(lab.root / "snippets/t/unrelated.py")  # reading it would never end
    snippet = lab.write("t/one", 'print("ran")')
    assert lab.run(snippet)["t/one"].stdout == "ran\n"


def test_what_a_compiler_wrote_and_loaded_does_not_count(lab):
    """Inductor's modules lie in the store, which may lie in the project."""
    cache = lab.root / ".tclab/cache"
    cache.mkdir(parents=True)
    snippet = lab.write(
        "t/one",
        f"""
        import sys
        open({str(cache / "generated.py")!r}, "w").write("value = 2")
        sys.path.insert(0, {str(cache)!r})
        import generated
        """,
    )
    assert lab.run(snippet)["t/one"].ok
    assert [
        name for name in lab.plan().local_status(snippet).run().rests_on if "cache" in name
    ] == []
    assert lab.plan().local_status(snippet).state == "fresh"


def test_a_run_that_cannot_begin_leaves_its_lock(lab):
    """In a server, which goes on, the next build would wait for it for ever."""
    rows = lab.root / "records/h200/rows.jsonl"
    rows.parent.mkdir(parents=True)
    rows.write_text('{"us": 1}\n')
    checksums.write(rows)
    snippet = lab.write("t/one", "print(1)", "reads=records/h200/rows.jsonl")
    with pytest.raises(RecordingError, match="which PyTorch and which machine"):
        lab.run(snippet)
    assert lab.store.lock("t/one") is not None


# --------------------------------------------------------------------------- beside the project


def test_a_file_of_another_topic_that_a_run_imports_counts(lab):
    helper = lab.root / "snippets/u/_h.py"
    helper.parent.mkdir()
    helper.write_text("value = 1\n")
    snippet = lab.write(
        "t/one",
        """
        import sys
        sys.path.insert(0, "snippets/u")
        import _h
        print(_h.value)
        """,
    )
    assert lab.run(snippet)["t/one"].stdout == "1\n"
    assert lab.plan().local_status(snippet).state == "fresh"
    helper.write_text("value = 22\n")
    status = lab.plan().local_status(snippet)
    assert (status.state, status.why) == ("stale", ("snippets/u/_h.py changed",))


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("snippets/t/rows.txt", "print(open('snippets/t/rows.txt').read())"),
        ("snippets/t/rows.txt", ("import pathlib\nhere = pathlib.Path(__file__).parent\n"
         "print((here / 'rows.txt').read_text())")),
        ("snippets/t/data/rows.txt", ("import os.path\nhere = os.path.dirname(__file__)\n"
         "print(open(os.path.join(here, 'data', 'rows.txt')).read())")),
        ("snippets/t/data/rows.txt", ("import pathlib\nhere = pathlib.Path(__file__).parent\n"
         "print((here / 'data' / 'rows.txt').read_text())")),
        ("snippets/t/rows.txt", ("import mmap\nwith open('snippets/t/rows.txt') as f:\n"
         "    print(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[:])")),
        ("snippets/t/more.py", "exec(open('snippets/t/more.py').read())"),
        ("snippets/t/more.py", "import runpy\nrunpy.run_path('snippets/t/more.py')"),
        ("snippets/t/more.py", ("import subprocess, sys\n"
         "subprocess.run([sys.executable, 'snippets/t/more.py'], check=True)")),
    ],
    ids=["open", "path", "join", "slash", "mmap", "exec", "runpy", "subprocess"],
)  # fmt: skip
def test_a_file_that_the_text_names_counts_however_it_is_read(lab, file, code):
    path = lab.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("'one'\n")
    snippet = lab.write("t/one", code)
    assert lab.run(snippet)["t/one"].failure is None
    assert lab.plan().local_status(snippet).state == "fresh"
    path.write_text("'two'\n")
    status = lab.plan().local_status(snippet)
    assert (status.state, status.why) == ("stale", (f"{file} changed",))


@pytest.mark.parametrize(
    "code",
    [
        "print(open(path).read())",
        "import os\nos.read(os.open(path, os.O_RDONLY), 9)",
        "import os\nos.chdir('snippets')\nprint(open(path.removeprefix('snippets/')).read())",
        "import glob\nprint([open(each).read() for each in glob.glob('snippets/t/*.txt')])",
        "import numpy\nprint(numpy.fromfile(path, dtype='uint8'))",
        "import os\nif os.fork() == 0:\n    open(path).read()\n    os._exit(0)\nos.wait()",
        "import subprocess\nsubprocess.run(['cat', path], check=True)",
        ("import subprocess, sys\nread = f'import tclab; open({path!r}).read()'\n"
         "subprocess.run([sys.executable, '-c', read], check=True)"),
        ("import torch\n@torch.compile(backend='eager')\n"
         "def f(x):\n    return x + len(open(path).read())\nprint(f(torch.ones(2)))"),
    ],
    ids=["open", "os", "chdir", "glob", "numpy", "fork", "program", "python", "compiled"],
)  # fmt: skip
def test_a_file_whose_name_is_computed_counts_too(lab, code):
    path = lab.root / "snippets/t/rows.txt"
    path.parent.mkdir()
    path.write_text("one")
    snippet = lab.write("t/one", f"path = '/'.join(['snippets', 't', 'ro' + 'ws.txt'])\n{code}")
    assert lab.run(snippet)["t/one"].failure is None
    assert lab.plan().local_status(snippet).state == "fresh"
    path.write_text("two")
    status = lab.plan().local_status(snippet)
    assert (status.state, status.why) == ("stale", ("snippets/t/rows.txt changed",))


def test_what_a_run_wrote_before_it_read_it_does_not_count(lab):
    run = lab.one(
        """
        import pathlib
        path = pathlib.Path("snippets/t") / ("no" + "tes.txt")
        path.write_text("mine")
        print(path.read_text())
        """
    )
    assert not [name for name in run.rests_on if not name.startswith("tclab/")]


FRAMES = """
import os
import torch
from torch._dynamo.utils import counters

@torch.compile(backend="eager")
def add_length(x):
    with open(os.devnull) as file:
        return x + len(file.read()) + id(x) * 0

for size in (2, 3):
    add_length(torch.ones(size))
print(dict(counters["frames"]), dict(counters["stats"]))
"""


def test_dynamo_does_not_see_that_files_are_noted(lab):
    alone = [sys.executable, "-c", FRAMES]
    done = subprocess.run(alone, capture_output=True, text=True, check=True)
    assert lab.one(FRAMES).stdout == done.stdout
    assert "'total'" in done.stdout


def test_a_file_that_a_helper_names_counts_and_one_of_another_folder_does_not(lab):
    for name in ("t/rows.txt", "u/rows.txt"):
        (lab.root / "snippets" / name).parent.mkdir(exist_ok=True)
        (lab.root / "snippets" / name).write_text("one\n")
    (lab.root / "snippets/t/_rows.py").write_text("text = open('snippets/t/rows.txt').read()\n")
    run = lab.one("import _rows\nprint(_rows.text, 'prose of rows.', '/etc/passwd', '../..')\n")
    named = {name for name in run.rests_on if not name.startswith("tclab/")}
    assert named == {"snippets/t/_rows.py", "snippets/t/rows.txt"}


def test_a_file_of_pythonpath_that_a_run_imports_counts(lab, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (second / "outside_helper.py").write_text("value = 1\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (first, second))))
    snippet = lab.write("t/one", "import outside_helper\nprint(outside_helper.value)")
    run = lab.run(snippet)["t/one"]
    assert run.stdout == "1\n"
    assert "$PYTHONPATH/outside_helper.py" in run.rests_on
    assert lab.plan().local_status(snippet).state == "fresh"
    (first / "outside_helper.py").write_text("value = 22\n")  # found before the other
    status = lab.plan().local_status(snippet)
    assert (status.state, status.why) == ("stale", ("$PYTHONPATH/outside_helper.py changed",))


def test_an_installed_package_that_a_run_imports_counts(lab, monkeypatch):
    snippet = lab.write("t/one", "import sympy")
    run = lab.run(snippet)["t/one"]
    assert run.packages["sympy"] == metadata.version("sympy")
    assert run.packages["mpmath"] == metadata.version("mpmath")  # by sympy
    assert not {"pytest", "torch"} & run.packages.keys()
    assert lab.plan().local_status(snippet).state == "fresh"
    versions = run.packages | {"sympy": "99"}
    monkeypatch.setattr(installed, "version", versions.get)
    (why,) = lab.plan().local_status(snippet).why
    assert why == f"sympy {metadata.version('sympy')} → 99"


# --------------------------------------------------------------------------- the compiler

CXX = shutil.which("g++")


@pytest.fixture
def other_compiler(tmp_path, monkeypatch) -> Path:
    """Another g++, first in PATH, which calls the usual one, and says the same of itself."""
    wrapper = tmp_path / "bin/g++"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {CXX} "$@" -O0\n')
    wrapper.chmod(0o755)
    return wrapper


@pytest.mark.skipif(not CXX, reason="no g++ on PATH")
def test_another_compiler_makes_a_run_stale(lab, other_compiler, monkeypatch):
    snippet = lab.write("t/one", "print(1)")
    made = lab.run(snippet)["t/one"].provenance
    assert lab.plan().local_status(snippet).state == "fresh"
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{other_compiler.parent}{os.pathsep}{os.environ['PATH']}")
        (why,) = lab.plan().local_status(snippet).why
        here = lab.plan().here.compiler
    assert why == f"C++ compiler {made.compiler} → {here}"
    assert made.compiler.rpartition(" (")[0] == here.rpartition(" (")[0]
    monkeypatch.setenv("CXX", str(other_compiler))
    assert any(
        why.startswith("variable CXX set to") for why in lab.plan().local_status(snippet).why
    )
    assert lab.plan().here.compiler == here


@pytest.mark.skipif(not CXX, reason="no g++ on PATH")
def test_what_another_compiler_compiled_is_not_loaded(lab, other_compiler, monkeypatch):
    """Inductor names a library by the compiler's command, which is the same."""
    lab.one("print(1)")
    compiled = lab.store.cache / "inductor/ab/one.so"
    compiled.parent.mkdir(parents=True)
    compiled.write_bytes(b"library")
    lab.one("print(2)")
    assert compiled.exists()
    monkeypatch.setenv("PATH", f"{other_compiler.parent}{os.pathsep}{os.environ['PATH']}")
    lab.one("print(2)")
    assert not compiled.exists()
