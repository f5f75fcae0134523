"""Choose the environment variables of a snippet's process, so that each run shows its whole
compile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: A hit in a graph cache would hide the stages that a run should show.
GRAPH_CACHES_OFF = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}

#: For the same hashes, text, hours and language, no colours, and no files beside the snippet.
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

#: A snippet for a CPU gives the same run on a machine with a GPU, and does not wait for the GPU.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

_SET = GRAPH_CACHES_OFF | SAME_EVERY_TIME | SAFE_TO_FORK

#: Variables that are not passed on: a test run, for example, sets one thread for each of its
#: workers. A snippet gets as many threads as a plain Python does, since generated C++ and every
#: time depend on the number.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

#: Start a coverage measurement, which falsifies times and changes what Dynamo sees.
COVERAGE = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")

#: Of the interpreter's own variables only those with paths are passed on. Each other one changes
#: what a program prints, or whether it fails: PYTHONOPTIMIZE alone removes every assert.
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
    """Return the variables of this process that a snippet inherits unchanged."""
    kept_back = {*THREADS, *COVERAGE, *_COLOURS, *_SET, *_interpreter_variables()}
    return {name: value for name, value in os.environ.items() if name not in kept_back}


def _interpreter_variables() -> set[str]:
    """Return the names of the set variables of the interpreter that change what a program does."""
    return {name for name in os.environ if name.startswith(_INTERPRETER)} - {*_PATH_VARIABLES}


def gpu_variables() -> dict[str, str | None]:
    """Return the changes that undo `NO_GPU` for one job; None removes a variable."""
    return {name: os.environ.get(name) for name in NO_GPU}


def timed_variables() -> dict[str, str | None]:
    """Return the changes that give a timed snippet the threads of a plain Python; None removes a
    variable.
    """
    return dict.fromkeys(SAFE_TO_FORK)


def all_variables(cache: Path, job: Path | None = None) -> dict[str, str]:
    """Return all variables of a run. `cache` holds compiled objects, `job` is the run's own
    folder.
    """
    env = inherited_variables() | _SET | NO_GPU | cache_folders(cache)
    env["PYTHONPATH"] = _python_path(os.environ)
    return env | (job_variables(job) if job else {})


def cache_folders(cache: Path) -> dict[str, str]:
    """Return the cache folders of Inductor and Triton. Runs share them, to save time."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }


def job_variables(job: Path) -> dict[str, str]:
    """Return the variables that name a run's own folders."""
    return {"TMPDIR": str(job / "tmp"), "TCLAB_JOB": str(job)}


def _python_path(env: Mapping[str, str]) -> str:
    """Return a PYTHONPATH with the folder of this tclab first, then the caller's folders."""
    package = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
