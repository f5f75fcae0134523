"""Describe this machine without importing torch: versions, devices, compilers, packages."""

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

from tclab.errors import TclabError, UnsupportedTorch
from tclab.model import Provenance, Snippet, Version, parse_source
from tclab.system import settings, surroundings, toolchain

#: The oldest and the newest PyTorch release that this tclab supports.
OLDEST, NEWEST = (2, 11), (2, 15)

_VECTOR_ISAS = ("avx512_bf16", "avx512f", "avx2", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")


def here(
    variables: Mapping[str, str] = os.environ, hide: Callable[[str], str] = settings.hide_value
) -> Provenance:
    """Describe this machine as of today (UTC), for a process with these environment variables.
    `hide` returns the replacement for a value that could be a secret.
    """
    torch = torch_facts()
    gpu, driver = gpu_and_driver()
    return Provenance(
        torch=torch.get("__version__", ""),
        torch_git=torch.get("git_version", ""),
        python=f"{platform.python_version()}{getattr(sys, 'abiflags', '')}",
        cpu=describe_cpu(),
        system=surroundings.describe_system(),
        date=dt.datetime.now(dt.timezone.utc).date().isoformat(),
        triton=triton_version(),
        compiler=toolchain.compiler(),
        cuda=torch.get("cuda", ""),
        gpu=gpu,
        driver=driver,
        cores=count_cores(),
        variables=settings.published_settings(variables, hide),
    )


def count_cores() -> int:
    """Count the cores that this process may use. Generated C++ contains this number as its number
    of threads.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --------------------------------------------------------------------------- torch, triton


def torch_facts() -> dict[str, str]:
    """Return `__version__`, `git_version` and `cuda` of the torch that snippets will import."""
    folder = _package_folder("torch")
    return _file_assignments(folder / "version.py") if folder else {}


def triton_version() -> str:
    """Return Triton's version, '' if it is not installed."""
    folder = _package_folder("triton")
    return _file_assignments(folder / "__init__.py").get("__version__", "") if folder else ""


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    origin = spec.origin if spec else getattr(sys.modules.get(name), "__file__", None)
    return Path(origin).parent if origin else None


def _file_assignments(path: Path) -> dict[str, str]:
    return dict(_read_assignments(path, path.stat().st_mtime_ns)) if path.is_file() else {}


@lru_cache(maxsize=8)
def _read_assignments(path: Path, _changed: int) -> tuple[tuple[str, str], ...]:
    """Return the file's top-level ``name = "text"`` pairs without executing the file."""
    pattern = r"^(\w+)(?:: [^=\n]+)? = (['\"].*['\"])[ \t]*$"
    assignments = re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple((name, str(ast.literal_eval(value))) for name, value in assignments)


def check_torch() -> None:
    """Raise UnsupportedTorch unless this tclab supports the installed PyTorch.

    TCLAB_ANY_TORCH=1 permits any version; its private names are still checked.
    """
    version = torch_facts().get("__version__", "")
    if not version:
        step = f"pip install torch (from {_supported_range()})"
        raise UnsupportedTorch(sys.executable, "this Python has no torch", step)
    if problem := unsupported_reason(version):
        step = "install one of those, or try this one with TCLAB_ANY_TORCH=1"
        raise UnsupportedTorch(f"torch {version}", problem, step)


def unsupported_reason(version: str) -> str:
    """Return why this PyTorch is refused; '' if it is supported or TCLAB_ANY_TORCH=1 is set."""
    if (
        OLDEST <= Version.parse(version).release <= NEWEST
        or os.environ.get("TCLAB_ANY_TORCH") == "1"
    ):
        return ""
    return f"this tclab knows PyTorch {_supported_range()}"


def _supported_range() -> str:
    return f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


# --------------------------------------------------------------------------- machine


@lru_cache(maxsize=1)
def describe_cpu() -> str:
    """Return the processor's model and its vector extensions, on which Inductor's choice of code
    depends.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text, re.MULTILINE))
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    isa = " ".join(flag for flag in _VECTOR_ISAS if flag in flags)
    model = fields.get("model name") or platform.machine()
    return f"{model} ({isa})" if isa else model


def gpu_and_driver() -> tuple[str, str]:
    """Return the name and driver of the first visible NVIDIA GPU, ('', '') if there is none."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1", "NoDevFiles"):
        return "", ""
    return next(iter(_nvidia_smi(shutil.which("nvidia-smi") or "")), ("", ""))


def count_gpus() -> int:
    """Count the NVIDIA GPUs that are visible to a process started here."""
    if not gpu_and_driver()[0]:
        return 0
    installed = len(_nvidia_smi(shutil.which("nvidia-smi") or ""))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return installed if visible is None else min(installed, len(visible.split(",")))


@lru_cache(maxsize=2)
def _nvidia_smi(command: str) -> tuple[tuple[str, str], ...]:
    """Return the name and the driver of each NVIDIA GPU of the machine."""
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
    """Return whether a GPU is visible and this PyTorch is built for CUDA."""
    return bool(torch_facts().get("cuda") and gpu_and_driver()[0])


def has_two_gpus() -> bool:
    """Return whether at least two GPUs are visible and this PyTorch is built for CUDA."""
    return has_cuda() and count_gpus() >= 2


def require_process_control(user: str) -> None:
    """Raise TclabError on Windows, where tclab cannot limit and kill processes."""
    if not hasattr(os, "fork"):
        cause = "needs processes that can be limited and ended, which this system does not have"
        step = "Linux, macOS or Windows' WSL; here work tclab explain, diff, list, show, lab start"
        raise TclabError(user, cause, step)


def triton_install_step() -> str:
    """Return the next step for a machine without Triton."""
    if sys.platform == "linux":
        return "pip install the Triton that pairs with this PyTorch"
    return "Triton is built for Linux: do this there, in a container or in Windows' WSL"


#: A part of the error on a machine that cannot compile C++ → the next step.
CXX_STEPS = {
    "InvalidCxxCompiler": "install a C++ compiler (Debian: apt-get install g++), or name it in CXX",
    "No working C++ compiler": "install a C++ compiler (Debian: apt-get install g++)",
    "Python.h: No such file": "install Python's headers (Debian: apt-get install python3-dev)",
}


def has_cxx() -> bool:
    """Return whether Inductor finds a C++ compiler, and the compiler finds ``Python.h``."""
    own = os.environ.get("CXX", "").split()
    header = Path(sysconfig.get_path("include"), "Python.h")
    return header.is_file() and any(
        shutil.which(name) for name in (*own[:1], "g++", "gcc", "clang++")
    )


def describe_need(need: str) -> str:
    """Describe what a need requires. A need can also be the name of a package or of a GPU."""
    words = {
        "cuda": "a GPU that PyTorch can use",
        "two_gpus": "two GPUs that PyTorch can use",
        "cxx": "a C++ compiler (Debian: apt-get install g++; or name yours in CXX)",
        "triton": f"Triton ({triton_install_step()})",
    }
    if need in words:
        return words[need]
    return f"the package {need} (pip install {need})" if need.isidentifier() else f"an {need}"


def missing_needs(snippet: Snippet) -> set[str]:
    """Return the snippet's needs that this machine lacks. A snippet that needs a GPU or packages is
    recorded on a machine with them, so the packages that it imports and the GPUs that it asserts
    are needs, too. For other snippets a missing package is an error.
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
    """Return the GPU names in ``assert torch.cuda.get_device_name() == "NVIDIA H200"``."""
    names = set[str]()
    for node in ast.walk(parse_source(source)):
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
    """Return the packages that the snippet or its included files import and that this Python
    lacks.
    """
    files = [path for path in snippet.includes if path.suffix == ".py"]
    sources = [snippet.source, *(path.read_text(encoding="utf-8") for path in files)]
    names = set[str]().union(*map(_imported_packages, sources)) - {path.stem for path in files}
    return {name for name in names if not _is_installed(name)}


@cache
def _imported_packages(source: str) -> frozenset[str]:
    """Return the packages that a file requires. Packages that it imports inside ``try``, or whose
    ``find_spec`` it calls, are not required.
    """
    nodes: list[ast.AST] = [parse_source(source)]
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
def _is_installed(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None
