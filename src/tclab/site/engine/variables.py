"""The environment variables of a snippet's process: they make each run show its whole compile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: A hit in a graph cache would hide the stages that a run is to show.
GRAPH_CACHES_OFF = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}

#: Same hashes, same text, same hours and language, no colours, no files beside the snippet.
SAME_EVERY_TIME = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "COLUMNS": "100",
}

#: Snippets run side by side, and a process with a pool of compile workers cannot be forked.
ONE_COMPILE_THREAD = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}

#: numpy would start a pool of threads when it is imported.
NO_BLAS_POOL = {"OPENBLAS_NUM_THREADS": "1"}

#: PyTorch asks NVML whether there is a GPU: asking CUDA would initialise it before the fork.
GPU_CHECK_WITHOUT_CUDA = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}

SAFE_TO_FORK = ONE_COMPILE_THREAD | NO_BLAS_POOL | GPU_CHECK_WITHOUT_CUDA

#: A snippet for a CPU shows the same on a machine with a GPU, and does not wait for the GPU.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

_SET = GRAPH_CACHES_OFF | SAME_EVERY_TIME | SAFE_TO_FORK

#: Not passed on: a test run, say, sets one thread for each of its workers. A snippet gets as many
#: threads as a plain Python does, since generated C++ and every time depend on the number.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

#: Start a coverage measurement, which falsifies times and changes what Dynamo sees.
COVERAGE = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")

#: Of the interpreter's own variables only those with paths are passed on. Each of the others
#: changes what a program prints, or whether it fails: PYTHONOPTIMIZE alone removes every assert.
_INTERPRETER = "PYTHON"
_PATH_VARIABLES = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONUSERBASE",
    "PYTHONNOUSERSITE",
    "PYTHONPYCACHEPREFIX",
)

_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE")


def inherited_variables() -> dict[str, str]:
    """The variables of this process that a snippet inherits unchanged."""
    kept_back = {*THREADS, *COVERAGE, *_COLOURS, *_SET, *_interpreter_variables()}
    return {name: value for name, value in os.environ.items() if name not in kept_back}


def _interpreter_variables() -> set[str]:
    """Names of the interpreter's variables that are set and change what a program does."""
    return {name for name in os.environ if name.startswith(_INTERPRETER)} - {*_PATH_VARIABLES}


def gpu_variables() -> dict[str, str | None]:
    """Changes that undo `NO_GPU` for one job; None removes a variable."""
    return {name: os.environ.get(name) for name in NO_GPU}


def timed_variables() -> dict[str, str | None]:
    """Changes that give a timed snippet the threads of a plain Python; None removes a variable."""
    return dict.fromkeys(SAFE_TO_FORK)


def all_variables(cache: Path, job: Path | None = None) -> dict[str, str]:
    """All variables of a run. `cache` holds compiled objects, `job` is the run's own folder."""
    env = inherited_variables() | _SET | NO_GPU | cache_folders(cache)
    env["PYTHONPATH"] = _python_path(os.environ)
    return env | (job_variables(job) if job else {})


def cache_folders(cache: Path) -> dict[str, str]:
    """The cache folders of Inductor and Triton. Runs share them, to save time."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }


def job_variables(job: Path) -> dict[str, str]:
    """The variables that name a run's own folders."""
    return {"TMPDIR": str(job / "tmp"), "TCLAB_JOB": str(job)}


def _python_path(env: Mapping[str, str]) -> str:
    """A PYTHONPATH with the folder of this tclab first, then the caller's."""
    package = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
