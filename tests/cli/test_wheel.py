"""The package as a stranger gets it: built once, installed into an empty environment."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tclab import __version__
from tclab.site.labs import source

ROOT = Path(__file__).resolve().parents[2]
LABS = source.find(ROOT)

MODEL = """import torch

def gate(x, bias):
    return torch.sigmoid(x + bias) * x

def example_inputs():
    return torch.randn(64, 32), torch.randn(32)
"""


def run(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return a command, without what points to this clone."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TCLAB", "PYTHON"))}
    return subprocess.run(list(map(str, words)), cwd=cwd, env=env | variables, text=True,
                          capture_output=True, timeout=240, check=False)  # fmt: skip


def build(folder: Path, out: Path, *targets: str) -> None:
    """Build the wheel, or what else is named, without a network."""
    words = [word for target in targets for word in ("-t", target)]
    done = run(sys.executable, "-m", "hatchling", "build", *words, "-d", out, cwd=folder,
               PYTHONPATH=os.environ.get("PYTHONPATH", ""))  # fmt: skip
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path

    def names(self) -> set[str]:
        return set(zipfile.ZipFile(self.wheel).namelist())

    def text(self, ending: str) -> str:
        (name,) = (name for name in self.names() if name.endswith(ending))
        return zipfile.ZipFile(self.wheel).read(name).decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, "wheel", "sdist")
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return Built(wheel, sdist)


def test_the_wheel_has_the_package_and_what_the_labs_need(built: Built) -> None:
    left_out = ("workshop/",)
    package = ROOT / "src" / "tclab"
    files = {
        f"tclab/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        and not path.relative_to(package).as_posix().startswith(left_out)
    }  # fmt: skip
    labs = {f"tclab/site/labs/shipped/docs/labs/{lab.name}.py" for lab in LABS}
    modules = {"torch_compile_lab.py", "torch_compile_lab_pytest.py"}
    assert labs | files | modules | {"tclab/py.typed"} <= built.names()
    others = built.names() - labs - files - modules
    about = f"torch_compile_lab-{__version__}.dist-info/"
    others -= {f"{about}{n}" for n in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    timings = "tclab/capturing/target/timing/shipped/h200-torch2.11/padding.json"
    shipped = {"tclab/site/labs/shipped/docs/labs/index.md", timings}
    assert others == {f"{about}licenses/LICENSE", *shipped}
    assert built.wheel.stat().st_size < 1_300_000


def test_the_sdist_gives_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path)  # our own
    folder = tmp_path / f"torch_compile_lab-{__version__}"
    tops = {path.name for path in folder.iterdir()} - {".gitignore", "PKG-INFO"}
    assert tops == {
        "src", "docs", "records", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff",
        "pyproject.toml",
    }  # fmt: skip
    build(folder, tmp_path / "again", "wheel")
    (again,) = (tmp_path / "again").iterdir()
    assert again.name == built.wheel.name and again.read_bytes() == built.wheel.read_bytes()


def test_the_metadata_asks_for_ranges_and_nothing_of_the_core(built: Built) -> None:
    about = email.message_from_string(built.text("METADATA"))
    assert (about["Name"], about["Version"]) == ("torch-compile-lab", __version__)
    wanted = about.get_all("Requires-Dist") or []
    assert wanted and all("extra ==" in one and "==" not in one.split(";")[0] for one in wanted)
    minima = (ROOT / ".ci" / "minima.txt").read_text(encoding="utf-8")
    lowest = set(re.findall(r"^([a-z]+)==([\d.]+)", minima, re.MULTILINE))
    assert lowest == {(n, v) for one in wanted for n, v in re.findall(r"^(\w+)>=([\d.]+)", one)}
    released = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert released and released[1] == __version__


# --------------------------------------------------------------------- in an environment


@dataclass(frozen=True)
class Environment:
    """An environment with the wheel. PyTorch, and what the extras ask for, can lie beside it."""

    folder: Path

    @property
    def packages(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "lib" / version / "site-packages"

    def lay_beside(self) -> None:
        """Let it see the packages that these tests run with."""
        beside = [path for path in sys.path if path.endswith("-packages")]
        (self.packages / "beside.pth").write_text("\n".join(beside))

    def tclab(self, cwd: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return run(self.folder / "bin" / "tclab", *words, cwd=cwd, **env)

    def python(self, cwd: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return run(self.folder / "bin" / "python", *words, cwd=cwd, **env)


def made(built: Built, folder: Path) -> Environment:
    done = run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    done = run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install",
               "--quiet", "--no-deps", "--no-index", built.wheel, cwd=folder.parent)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Environment(folder)


@pytest.fixture(scope="module")
def alone(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and nothing else, not even PyTorch."""
    return made(built, tmp_path_factory.mktemp("alone") / "env")


@pytest.fixture(scope="module")
def beside(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel beside PyTorch."""
    environment = made(built, tmp_path_factory.mktemp("beside") / "env")
    environment.lay_beside()
    return environment


@pytest.fixture(scope="module")
def library(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel's first house alone, beside PyTorch."""
    environment = made(built, tmp_path_factory.mktemp("library") / "env")
    environment.lay_beside()
    shutil.rmtree(environment.packages / "tclab" / "site")
    return environment


@pytest.fixture
def overlaid(alone: Environment) -> Iterator[Path]:
    """The file that the other package `tclab` lays over ours."""
    module = alone.packages / "tclab" / "__init__.py"
    ours = module.read_bytes()
    yield module
    module.write_bytes(ours)


def test_the_core_needs_nothing(alone: Environment, tmp_path: Path) -> None:
    code = "import tclab, sys; print(tclab.__version__, tclab.Table, 'torch' in sys.modules)"
    assert alone.python(tmp_path, "-c", code).stdout.startswith(f"{__version__} <class")
    helped = alone.tclab(tmp_path, "--help")
    assert helped.returncode == 0 and "torch-compile-lab[explain]" in helped.stdout
    for command, extra in (("explain", "explain"), ("lab", "labs")):
        ran = alone.tclab(tmp_path, command, "x.py:f")
        assert ran.returncode == 1
        assert f"next: pip install 'torch-compile-lab[{extra}]'" in ran.stderr


@pytest.mark.parametrize("theirs", ["import serial\nfrom .tclab import TCLab\n", None])
def test_another_package_of_that_name_is_told(alone, overlaid, tmp_path, theirs) -> None:
    overlaid.unlink() if theirs is None else overlaid.write_text(theirs)
    ran = alone.tclab(tmp_path, "--help")
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    assert "is not the torch.compile lab" in ran.stderr
    assert "pip install --force-reinstall --no-deps torch-compile-lab" in ran.stderr


def test_types_reach_who_installs_it(alone: Environment, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "theirs.py").write_text("import tclab\n\nrequest: str = tclab.capture(abs)\n")
    python = alone.folder / "bin" / "python"
    ran = run(sys.executable, "-m", "mypy", "--config-file=", "--python-executable", python,
              "theirs.py", cwd=tmp_path)  # fmt: skip
    assert 'expression has type "CaptureRequest", variable has type "str"' in ran.stdout


def test_a_stranger_opens_a_function(beside: Environment, tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    (tmp_path / "my_model.py").write_text(MODEL)
    said = beside.python(tmp_path, "-m", "tclab", "--version")
    assert said.stdout == f"tclab {__version__}\n", said.stderr
    (tmp_path / "bin").mkdir()  # and no C++ compiler is on the way
    ran = beside.tclab(tmp_path, "explain", "my_model.py:gate", "--target", "h200",
                       PATH=str(tmp_path / "bin"), CXX="")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "triton_poi_fused" in ran.stdout
    assert "sigmoid" in (tmp_path / "my_model-gate-h200.html").read_text(encoding="utf-8")


LISTED = """[[function]]
name = "my_model.py:gate"
level = "graphs"
"""
SUITE = """from my_model import example_inputs, gate

def test_gate(compiled):
    compiled(gate, *example_inputs(), level="dynamo").matches()
"""


#: Several command lines in one process, which imports PyTorch once.
COMMANDS = """
import sys
from tclab.cli.command import main
for words in sys.argv[1].split(";"):
    print("status", main(words.split()), words)
"""


def test_the_library_works_without_the_site(library: Environment, tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "compiled.toml").write_text(LISTED)
    (tmp_path / "test_model.py").write_text(SUITE)
    helped = library.tclab(tmp_path, "--help")
    assert "Open a function" in helped.stdout, helped.stderr
    assert "Run others' jobs" not in helped.stdout
    ends = {
        "explain my_model.py:gate --target h200 --format json -o one.json": 0,
        "diff one.json one.json": 0,
        "check --update": 0,
        "check": 0,
        "bench": 1,
        "run": 2,
    }
    ran = library.python(tmp_path, "-c", COMMANDS, ";".join(ends))
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr
    for words, status in ends.items():
        assert f"status {status} {words}\n" in ran.stdout, ran.stderr
    python = library.folder / "bin" / "python"
    ran = library.tclab(tmp_path, "upgrade", "my_model.py:gate", "--to", other(python),
                        f"--python={python}")  # fmt: skip
    assert ran.returncode == 2 and "is the one before" in ran.stderr, ran.stderr
    words = ("-m", "pytest", "-q", "-p", "torch_compile_lab_pytest", "-p", "no:cacheprovider")
    assert library.python(tmp_path, *words, "--compiled-update").returncode == 0
    assert library.python(tmp_path, *words).returncode == 0


def other(python: Path) -> str:
    """Return the PyTorch of an environment."""
    code = "import torch; print(torch.__version__.partition('+')[0])"
    return run(python, "-c", code, cwd=python.parent).stdout.strip()


def test_labs_need_no_clone(beside: Environment, tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    listed = beside.tclab(tmp_path, "lab", "list", **cache)
    assert all(lab.name in listed.stdout or lab.title.split()[0] in listed.stdout for lab in LABS)
    started = beside.tclab(tmp_path, "lab", "start", "1", **cache)
    assert started.returncode == 0, started.stderr
    path = tmp_path / "lab1_backends.py"
    assert (tmp_path / "lab1_backends.ipynb").is_file()
    with path.open("a") as file:
        file.write('\n# %%\ndef slowest_phase(times):\n    return "Total"\n')
    words = ("lab", "check", "1", path.name, "slowest_phase", "--hint")
    checked = beside.tclab(tmp_path, *words, **cache)
    assert checked.returncode == 1, checked.stderr
    assert "it answered Total" in checked.stdout
    assert "hint 1 of 2" in checked.stdout
    assert not (tmp_path / ".tclab").exists()


# ------------------------------------------------------------------ systems of other kinds

#: What Windows lacks of the standard library.
WINDOWS = """
import os, signal, subprocess, sys
for name in ("fork", "setsid", "killpg", "sched_getaffinity", "memfd_create", "sysconf"):
    delattr(os, name)
for name in ("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE",
             "pthread_sigmask", "sigwaitinfo", "set_wakeup_fd"):
    delattr(signal, name)
sys.modules.update(dict.fromkeys(("fcntl", "resource", "termios", "pwd", "grp")))
"""


def test_what_windows_can_do_and_what_not(beside: Environment, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "snippets" / "t").mkdir(parents=True)
    (project / "mkdocs.yml").touch()
    (project / "snippets" / "t" / "one.py").write_text('"""One."""\nprint(1)\n')
    works = ("--help", "--root project list", "lab list", "lab start 1 a", "explain --help")
    refused = ("--root project run t/one", "--root project record w-1 t/one", "lab run 1")
    ran = beside.python(tmp_path, "-c", WINDOWS + COMMANDS, ";".join((*works, *refused)))
    assert ran.returncode == 0, ran.stderr
    for words in works:
        assert f"status 0 {words}\n" in ran.stdout, ran.stderr
    for words in refused:
        assert f"status 1 {words}\n" in ran.stdout, ran.stderr
    assert ran.stderr.count("Windows' WSL") == len(refused)


def test_the_wheel_works_unopened(built: Built, tmp_path: Path) -> None:
    """A zip on the path, as PYTHONPATH or zipapp has it, has no files beside its modules."""
    code = (
        "from tclab import advisories, render; from tclab.explain import costs; "
        "from tclab.render.viewer import instructions as i; from tclab.cli.explaining import page; "
        "from tclab.capturing.target.timing import measured as m; "
        "print(len(m._read_recorded('h200-torch2.11').ratios), len(render.css()), "
        "len(advisories.load()), costs.measured_costs().device, "
        "len(i._DATA.read_text()), len(page._SCRIPT.read_text()))"
    )
    done = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(built.wheel))
    assert done.returncode == 0, done.stderr
    assert "0" not in done.stdout.split()
