"""The variables a snippet's process runs under, so that every run shows all of its compile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: A hit in a graph cache would hide the stages that a run is there to show.
GRAPH_CACHES_OFF = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}

#: Same hashes, same text, no colours, no files beside the snippet.
SAME_EVERY_TIME = {
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

#: Whether there is a GPU is asked of NVML: asking CUDA would initialise it before the fork.
NO_CUDA_BEFORE_THE_FORK = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}

FOR_THE_FORK = ONE_COMPILE_THREAD | NO_BLAS_POOL | NO_CUDA_BEFORE_THE_FORK

#: What runs on a CPU shows the same on a machine with a GPU, and waits for no GPU to start.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

_SET = GRAPH_CACHES_OFF | SAME_EVERY_TIME | FOR_THE_FORK

#: What whoever starts the engine sets for a process of its own: a test run, say, that wants one
#: thread for each of its workers. A snippet gets as many as a plain Python does, since generated
#: C++ and every time depend on that.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

#: What has Python watch each line that runs. Times would be wrong, and Dynamo looks at the watcher.
WATCHERS = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")

#: Of the interpreter's own variables, those that say where things are. Each of the others changes
#: what a program prints or whether it ends well: PYTHONOPTIMIZE alone removes every assert.
_INTERPRETER = "PYTHON"
_WHERE_THINGS_ARE = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONUSERBASE",
    "PYTHONNOUSERSITE",
    "PYTHONPYCACHEPREFIX",
)

_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE")


def outer() -> dict[str, str]:
    """Of this process's variables, those that reach a snippet as they are."""
    kept_back = {*THREADS, *WATCHERS, *_COLOURS, *_SET, *_of_interpreter()}
    return {name: value for name, value in os.environ.items() if name not in kept_back}


def _of_interpreter() -> set[str]:
    """The variables of Python's that change what a program does."""
    return {name for name in os.environ if name.startswith(_INTERPRETER)} - {*_WHERE_THINGS_ARE}


def gpu_visible() -> dict[str, str | None]:
    """What undoes `NO_GPU` for one job: as it was; None where it was not set."""
    return {name: os.environ.get(name) for name in NO_GPU}


def undone() -> dict[str, str | None]:
    """What gives a timed snippet, in its own process, the threads a plain Python has."""
    return dict.fromkeys(FOR_THE_FORK)


def variables(cache: Path, job: Path | None = None) -> dict[str, str]:
    """All variables of a run. `cache` keeps compiled objects, `job` is the run's own folder."""
    env = outer() | _SET | NO_GPU | cache_folders(cache)
    env["PYTHONPATH"] = _python_path(os.environ)
    return env | (job_variables(job) if job else {})


def cache_folders(cache: Path) -> dict[str, str]:
    """Where Inductor and Triton keep what they compiled: shared, it only saves time."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }


def job_variables(job: Path) -> dict[str, str]:
    """What belongs to one run: its temporary folder goes with it."""
    return {"TMPDIR": str(job / "tmp"), "TCLAB_JOB": str(job)}


def _python_path(env: Mapping[str, str]) -> str:
    """Put tclab first, as this process found it; then what the caller had."""
    package = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
