"""What this machine is, told without importing torch."""

from __future__ import annotations

import ast
import datetime as dt
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from tclab import settings
from tclab.errors import TclabError, UnsupportedTorch
from tclab.model import Provenance, Snippet, Version, parsed

#: The PyTorch releases this tclab was made for, both included.
OLDEST, NEWEST = (2, 11), (2, 15)

_ISA = ("avx512_bf16", "avx512f", "avx2", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")


def here(
    variables: Mapping[str, str] = os.environ, hide: Callable[[str], str] = settings.hidden
) -> Provenance:
    """This machine, with today's date (UTC), for a process that has these variables. `hide` makes
    what stands for a value that may be a secret.
    """
    torch = torch_facts()
    gpu, driver = gpu_and_driver()
    return Provenance(
        torch=torch.get("__version__", ""),
        torch_git=torch.get("git_version", ""),
        python=".".join(map(str, sys.version_info[:2])),
        cpu=cpu(),
        system=f"{platform.system()} {platform.machine()}",
        date=dt.datetime.now(dt.timezone.utc).date().isoformat(),
        triton=triton_version(),
        cuda=torch.get("cuda", ""),
        gpu=gpu,
        driver=driver,
        cores=cores(),
        variables=settings.told(variables, hide),
    )


def cores() -> int:
    """The cores this process may use; generated C++ names the number of threads."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --------------------------------------------------------------------------- torch, triton


def torch_facts() -> dict[str, str]:
    """`__version__`, `git_version`, `cuda` of the torch that snippets will import."""
    folder = _package("torch")
    return _assignments(folder / "version.py") if folder else {}


def triton_version() -> str:
    """Triton's version, '' without one."""
    folder = _package("triton")
    return _assignments(folder / "__init__.py").get("__version__", "") if folder else ""


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    origin = spec.origin if spec else getattr(sys.modules.get(name), "__file__", None)
    return Path(origin).parent if origin else None


def _assignments(path: Path) -> dict[str, str]:
    return dict(_read_assignments(path, path.stat().st_mtime_ns)) if path.is_file() else {}


@lru_cache(maxsize=8)
def _read_assignments(path: Path, _changed: int) -> tuple[tuple[str, str], ...]:
    """Top-level ``name = "text"`` lines, read and not run."""
    pattern = r"^(\w+)(?:: [^=\n]+)? = (['\"].*['\"])[ \t]*$"
    assignments = re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple((name, str(ast.literal_eval(value))) for name, value in assignments)


def check_torch() -> None:
    """UnsupportedTorch unless the installed PyTorch is one this tclab knows.

    TCLAB_ANY_TORCH=1 lets an unknown one through: the private names are still checked.
    """
    version = torch_facts().get("__version__", "")
    if not version:
        step = f"pip install torch (from {_span()})"
        raise UnsupportedTorch(sys.executable, "this Python has no torch", step)
    if problem := unknown_torch(version):
        step = "install one of those, or try this one with TCLAB_ANY_TORCH=1"
        raise UnsupportedTorch(f"torch {version}", problem, step)


def unknown_torch(version: str) -> str:
    """Why this version of PyTorch is not used; '' where it is, or TCLAB_ANY_TORCH=1 lets it."""
    if OLDEST <= Version.of(version).release <= NEWEST or os.environ.get("TCLAB_ANY_TORCH") == "1":
        return ""
    return f"this tclab knows PyTorch {_span()}"


def _span() -> str:
    return f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


# --------------------------------------------------------------------------- machine


@lru_cache(maxsize=1)
def cpu() -> str:
    """The processor's model and the vector extensions Inductor chooses by."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text, re.MULTILINE))
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    isa = " ".join(flag for flag in _ISA if flag in flags)
    model = fields.get("model name") or platform.machine()
    return f"{model} ({isa})" if isa else model


def gpu_and_driver() -> tuple[str, str]:
    """The first visible NVIDIA GPU's name and its driver, ('', '') without one."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1", "NoDevFiles"):
        return "", ""
    return next(iter(_nvidia_smi(shutil.which("nvidia-smi") or "")), ("", ""))


def gpus() -> int:
    """How many NVIDIA GPUs a process that starts here sees."""
    if not gpu_and_driver()[0]:
        return 0
    there = len(_nvidia_smi(shutil.which("nvidia-smi") or ""))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return there if visible is None else min(there, len(visible.split(",")))


@lru_cache(maxsize=2)
def _nvidia_smi(command: str) -> tuple[tuple[str, str], ...]:
    """The name and the driver of each NVIDIA GPU of the machine."""
    if not command:
        return ()
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        out = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    parts = (line.partition(",") for line in out.splitlines())
    return tuple((name.strip(), driver.strip()) for name, _, driver in parts)


def has_cuda() -> bool:
    """A GPU is visible and this PyTorch is built for CUDA."""
    return bool(torch_facts().get("cuda") and gpu_and_driver()[0])


def has_two_gpus() -> bool:
    """Two GPUs are visible, at least, and this PyTorch is built for CUDA."""
    return has_cuda() and gpus() >= 2


def need_processes(user: str) -> None:
    """TclabError where the system has no processes that can be limited and ended: on Windows."""
    if not hasattr(os, "fork"):
        cause = "needs processes that can be limited and ended, which this system does not have"
        step = "Linux, macOS or Windows' WSL; here work tclab explain, diff, list, show, lab start"
        raise TclabError(user, cause, step)


def triton_step() -> str:
    """What to do where Triton is not installed."""
    if sys.platform == "linux":
        return "pip install the Triton that pairs with this PyTorch"
    return "Triton is built for Linux: do this there, in a container or in Windows' WSL"


#: Errors of a machine that lacks what compiling C++ needs: a part of the text, and what to do.
CXX_STEPS = {
    "InvalidCxxCompiler": "install a C++ compiler (Debian: apt-get install g++), or name it in CXX",
    "No working C++ compiler": "install a C++ compiler (Debian: apt-get install g++)",
    "Python.h: No such file": "install Python's headers (Debian: apt-get install python3-dev)",
}


def has_cxx() -> bool:
    """There is a C++ compiler that Inductor would find, and Python's header that it includes."""
    named = os.environ.get("CXX", "").split()
    header = Path(sysconfig.get_path("include"), "Python.h")
    return header.is_file() and any(
        shutil.which(name) for name in (*named[:1], "g++", "gcc", "clang++")
    )


def to_install(need: str) -> str:
    """What a need asks of a machine, in words; any other name is of a package, or of a GPU."""
    words = {
        "cuda": "a GPU that PyTorch can use",
        "two_gpus": "two GPUs that PyTorch can use",
        "cxx": "a C++ compiler (Debian: apt-get install g++; or name yours in CXX)",
        "triton": f"Triton ({triton_step()})",
    }
    if need in words:
        return words[need]
    return f"the package {need} (pip install {need})" if need.isidentifier() else f"an {need}"


def missing_needs(snippet: Snippet) -> set[str]:
    """Which of the snippet's needs this machine lacks. One for a GPU, or one that says it needs
    packages, is recorded where they are: what it imports is a need, too, by the package's name, and
    the GPU whose name it asserts. Elsewhere one that is missing is an error.
    """
    have = {
        "cuda": has_cuda,
        "two_gpus": has_two_gpus,
        "triton": lambda: bool(triton_version()),
        "cxx": has_cxx,
    }
    missing = {need for need in snippet.needs if need in have and not have[need]()}
    if snippet.needs & {"cuda", "packages"}:
        missing |= _missing_packages(snippet)
    if "cuda" in snippet.needs:
        missing |= _asserted_gpus(snippet.source) - {gpu_and_driver()[0]}
    return missing


@cache
def _asserted_gpus(source: str) -> frozenset[str]:
    """The names in each ``assert torch.cuda.get_device_name() == "NVIDIA H200"``."""
    names = set[str]()
    for node in ast.walk(parsed(source)):
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Attribute(attr="get_device_name")),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=str(name))],
                )
            ):
                names.add(name)
    return frozenset(names)


def _missing_packages(snippet: Snippet) -> set[str]:
    """What the snippet or a file of its own imports, and is not here."""
    files = [path for path in snippet.includes if path.suffix == ".py"]
    sources = [snippet.source, *(path.read_text(encoding="utf-8") for path in files)]
    names = set[str]().union(*map(_imported, sources)) - {path.stem for path in files}
    return {name for name in names if not _installed(name)}


@cache
def _imported(source: str) -> frozenset[str]:
    """The packages that a file imports, but those that it may do without: it tries to import them,
    or asks for their ``find_spec`` first.
    """
    nodes: list[ast.AST] = [parsed(source)]
    names, asked = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
            case ast.Call(
                func=ast.Attribute(attr="find_spec"), args=[ast.Constant(value=str(name))]
            ):
                asked.add(name)
        if not isinstance(node, ast.Try):
            nodes += ast.iter_child_nodes(node)
    packages = {name.partition(".")[0] for name in names - asked}
    return frozenset(packages - sys.stdlib_module_names)


@cache
def _installed(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None
