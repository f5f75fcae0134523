"""What surrounds the engine and is not its own: variables of the interpreter, folders, the disk."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tempfile
import venv

import pytest

from tclab.errors import TclabError
from tclab.site.store.local_runs import Store
from tclab.system import machine, paths

CHECKS = """
import subprocess, sys
# claim: two-is-three
assert 2 == 3
# claim: a-helper-checks
assert __import__("_helper").checks()
# claim: a-process-checks
assert subprocess.run([sys.executable, "-c", "assert 0"], capture_output=True).returncode
import warnings
warnings.warn("seen")
print(sys.flags.optimize, sys.flags.dev_mode, sys.flags.verbose, sys.warnoptions)
"""

HELPER = """
def checks():
    try:
        assert 2 == 3
    except AssertionError:
        return True
    return False
"""

#: What would change the outcome of a run, or what it prints.
INTERPRETER = {
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "PYTHONDEVMODE": "1",
    "PYTHONVERBOSE": "1",
    "PYTHONSAFEPATH": "1",
}


def test_no_variable_of_the_interpreter_strips_an_assert(lab, monkeypatch):
    (lab.root / "snippets/t").mkdir()
    (lab.root / "snippets/t/_helper.py").write_text(HELPER)
    for name, value in INTERPRETER.items():
        monkeypatch.setenv(name, value)
    run = lab.one(CHECKS)
    assert [(c.name, c.held) for c in run.claims] == [
        ("two-is-three", False),
        ("a-helper-checks", True),
        ("a-process-checks", True),
    ]
    assert run.failure.cause == "assertion"
    assert run.stdout == "0 False 0 []\n"
    assert [line for line in run.stderr.splitlines() if "import" in line] == []


def test_the_hour_and_the_language_of_a_machine_reach_no_run(lab, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("LC_ALL", "C")
    run = lab.one(
        """
        import locale, time
        print(time.localtime(0).tm_hour, locale.setlocale(locale.LC_ALL, ""))
        """
    )
    assert run.stdout == "0 C.UTF-8\n"


def test_a_variable_that_no_key_holds_reaches_no_run(lab, monkeypatch):
    for name in ("MY_MODE", "HF_TOKEN", "CXXFLAGS", "MALLOC_CONF", "CUDA_DEVICE_ORDER"):
        monkeypatch.setenv(name, "fast")
    monkeypatch.setenv("TORCH_LOGS", "dynamo")
    names = '("MY_MODE", "HF_TOKEN", "CXXFLAGS", "MALLOC_CONF", "CUDA_DEVICE_ORDER", "TORCH_LOGS")'
    code = f"import os\nfor name in {names}: print(os.environ.get(name))"
    run = lab.one(code)
    assert run.stdout == "None\n" * 5 + "dynamo\n"
    assert run.provenance.variables["TORCH_LOGS"] == "dynamo"


def test_the_rights_of_new_files_are_the_same_for_who_runs_it(lab):
    before = os.umask(0o077)
    try:
        run = lab.one("import os\nopen('f', 'w').close(); print(oct(os.stat('f').st_mode))")
    finally:
        os.umask(before)
    assert run.stdout == "0o100644\n"


def test_the_home_of_a_run_is_its_own(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/secret").touch()
    code = """
    import os, pathlib, subprocess, sys
    home = pathlib.Path.home()
    print(os.listdir(home), home, flush=True)
    (home / ".seen").touch()
    subprocess.run([sys.executable, "-c", "import pathlib; print(pathlib.Path.home())"])
    """
    assert lab.one(code).stdout == "[] ~\n~\n"
    assert os.listdir(tmp_path / "home") == ["secret"]


#: Prints what the run of t/one prints, the machine in its key, and how it then stands. The words
#: are this process's limits: the name, the soft limit and the hard one.
RUNS_UNDER_LIMITS = """
import resource, sys
from pathlib import Path
for name, *limits in zip(*[iter(sys.argv[1:])] * 3):
    resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), tuple(map(int, limits)))
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
root = Path.cwd()
(one,) = snippets.find(root)
run = schedule.run([one], Plan(root), warm=False)["t/one"]
print(run.stdout or run.failure, run.provenance.system, Plan(root).local_status(one).state)
"""

PRINTS_LIMITS = """
import resource
names = ("AS", "CPU", "DATA", "FSIZE", "CORE", "NOFILE", "STACK")
print([resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in names])
"""


def under_limits(lab, *limits: str) -> str:
    command = [sys.executable, "-c", RUNS_UNDER_LIMITS, *limits]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=lab.root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_soft_limits_of_a_shell_reach_no_run(lab):
    lab.write("t/one", PRINTS_LIMITS)
    soft = ("NOFILE", "99", "9999", "STACK", "4000000", "-1", "FSIZE", "9999999", "-1")
    printed = under_limits(lab, *soft, "CORE", "4096", "-1")
    assert printed.startswith(f"[-1, -1, -1, -1, 0, 4096, {8 * 2**20}]\n")
    assert "RLIMIT" not in printed
    assert printed.endswith("fresh\n")


def test_a_hard_limit_is_in_the_key_of_a_run(lab):
    snippet = lab.write("t/one", PRINTS_LIMITS)
    printed = under_limits(lab, "NOFILE", "500", "500")
    assert printed.startswith(f"[-1, -1, -1, -1, 0, 500, {8 * 2**20}]\n")
    assert printed.endswith("RLIMIT_NOFILE 500 fresh\n")
    status = lab.plan(Store.of_project(lab.root)).local_status(snippet)
    assert status.state == "stale"
    (why,) = status.why
    assert "RLIMIT_NOFILE 500 → " in why


PRINTS_HOST = """
import os, platform, socket
print(socket.gethostname(), platform.node(), os.uname().nodename, os.uname().machine)
"""


@pytest.mark.parametrize("warm", [False, True])
def test_the_name_of_a_machine_reaches_no_run(lab, warm):
    run = lab.one(PRINTS_HOST, warm=warm)
    assert run.stdout == f"localhost localhost localhost {platform.machine()}\n"


# --------------------------------------------------------------------------- folders

#: A space, a quote, and what is only unusual.
AWKWARD = "a b/ü'%/p"

COMPILES = """
import torch
import torch._inductor.config as inductor
inductor.cpp_cache_precompile_headers = False  # faster where there is one file only
f = torch.compile(lambda x: x.sin() + 1)
# claim: right
assert torch.allclose(f(torch.ones(9)), torch.ones(9).sin() + 1)
"""


@pytest.fixture
def awkward(lab, tmp_path, monkeypatch):
    """A project in an awkward folder, whose temporary folder is one, too."""
    folder = tmp_path / AWKWARD
    (folder / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return type(lab)(folder)


@pytest.mark.skipif(not machine.has_cxx(), reason="no C++ compiler")
def test_a_project_in_an_awkward_folder_compiles_from_cold(awkward, tmp_path):
    run = awkward.one(COMPILES)
    assert run.ok, run.failure
    assert [path.name for path in (tmp_path / "users/tclab").glob("*/inductor")] == ["inductor"]
    assert not awkward.store.cache.exists()


def test_a_timed_snippet_has_folders_that_a_compile_takes(awkward):
    code = """
    import os
    from tclab.system import paths
    print([paths.is_safe_path(os.environ[name]) for name in ("TORCHINDUCTOR_CACHE_DIR", "TMPDIR")])
    """
    assert awkward.one(code, "alone=true").stdout == "[True, True]\n"


def test_a_function_is_explained_with_an_awkward_temporary_folder(awkward):
    (awkward.root / "m.py").write_text("def f(x):\n    return x.sin() + 1\n")
    arguments = ["explain", "m.py:f", "-i", "f32[8]", "-o", "r.html"]
    code = f"import sys; from tclab.cli.command import main; sys.exit(main({arguments}))"
    process = awkward.python(code)
    out, err = process.communicate()
    assert process.returncode == 0, out + err


def test_pytorch_below_an_awkward_folder_is_reached_by_a_link(tmp_path, monkeypatch):
    """Its headers and libraries are on every command line, too."""
    folder = tmp_path / AWKWARD / "venv"
    venv.create(folder, symlinks=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin/python"))
    for _ in range(2):
        command = [
            paths.python_for_compiles(tmp_path),
            "-c",
            "import sys, sysconfig as s; print(sys.prefix)",
        ]
        prefix = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        assert prefix != str(folder)
        assert paths.is_safe_path(prefix)
        assert os.path.samefile(prefix, folder)


@pytest.mark.parametrize("path", ["/a b", "/a'b", '/a"b', "/a\\b", "/a\nb", "/a$b", "/a,b", "/a:b"])
def test_what_does_not_stand_for_itself_on_a_command_line_does_not_fit(path):
    assert not paths.is_safe_path(path)


@pytest.mark.parametrize("path", ["/home/me/.cache/tclab", "/tmp/ü%@+=~-_", "/1/2"])
def test_what_stands_for_itself_fits(path):
    assert paths.is_safe_path(path)


# --------------------------------------------------------------------------- a full disk

#: In a namespace of its own, where it may mount a small temporary folder.
_SMALL = """
mount -t tmpfs -o size={size} none {folder} && TMPDIR={folder} exec {python} -c {code}
"""

FILLS = """
import os, pathlib
while True:
    with pathlib.Path("filler").open("ab", buffering=0) as file:
        try:
            file.write(b"x" * 4096)
        except OSError:
            break
"""

RUNS = """
from pathlib import Path
from tclab.site import snippets
from tclab.site.engine import failures, schedule
from tclab.site.engine.plan import Plan
from tclab.errors import TclabError
from tclab.site.store.local_runs import Store
try:
    runs = schedule.run(snippets.find(Path.cwd()), Plan(Path.cwd()), warm=False)
    print(*(failures.make_error(r) if r.failure else f"{name}: ok" for name, r in runs.items()))
except TclabError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("size", "code", "says"),
    [
        ("400k", FILLS, "the temporary folder: no space is left on its disk"),
        ("400k", FILLS + "print('x' * 10**5)", "the temporary folder: no space is left"),
        ("400k", FILLS + "os._exit(3)", "the temporary folder: no space is left on its disk"),
        (
            "400k",
            "open('f', 'wb').write(b'x' * 10**6)",
            "the temporary folder: no space is left on its disk",
        ),
        ("12k,nr_inodes=4", "print(1)", "the temporary folder: No space left on device"),
        ("4m", "print(1)", "t/one: ok"),
    ],
)
def test_a_full_disk_is_named_as_the_cause(lab, tmp_path, size, code, says):
    lab.write("t/one", code)
    (tmp_path / "small").mkdir()
    words = {"folder": str(tmp_path / "small"), "python": sys.executable, "code": RUNS}
    script = _SMALL.format(size=size, **{n: shlex.quote(word) for n, word in words.items()})
    command = ["unshare", "-rm", "sh", "-c", script]
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace to mount in")
    done = subprocess.run(command, capture_output=True, text=True, cwd=lab.root, check=False)
    assert says in done.stdout, done.stdout + done.stderr
    if "ok" not in says:
        assert "next: free some space" in done.stdout
        assert "TMPDIR=FOLDER" in done.stdout


def test_no_temporary_folder_at_all_is_one_clear_error(lab, monkeypatch):
    def none():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(TclabError, match="the temporary folder: there is none that takes files"):
        lab.one("print(1)")
