"""Choose the environment variables of a snippet's process, so that each run shows its whole
compile.
"""

from __future__ import annotations

import os
import site
from collections.abc import Mapping
from pathlib import Path

from tclab.system import inductor_cache, settings

#: Graph caches are off, because a hit would hide the stages that a run shows.
GRAPH_CACHES_OFF = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}

#: Make every run have the same hashes, encoding, time zone and language, no colours, and no files
#: beside the snippet.
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

#: Compile in one thread, because snippets run side by side, and a process with a pool of compile
#: workers cannot be forked.
ONE_COMPILE_THREAD = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}

#: Keep numpy from starting a pool of threads when it is imported.
NO_BLAS_POOL = {"OPENBLAS_NUM_THREADS": "1"}

#: Let PyTorch ask NVML whether there is a GPU, because asking CUDA would initialise it before the
#: fork.
GPU_CHECK_WITHOUT_CUDA = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}

SAFE_TO_FORK = ONE_COMPILE_THREAD | NO_BLAS_POOL | GPU_CHECK_WITHOUT_CUDA

#: Hide the GPU, so that a snippet for a CPU has the same run on a machine with a GPU and does not
#: wait for the GPU.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

_SET_VARIABLES = GRAPH_CACHES_OFF | SAME_EVERY_TIME | SAFE_TO_FORK

#: Variables that are not passed on. A test run, for example, sets one thread for each of its
#: workers, but a snippet must have as many threads as a plain Python, because generated C++ and
#: measured times depend on the number.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

#: The variables that are passed on in addition to those in a run's key: they name the user, and the
#: folders of programs and libraries. No other variable is passed on, because a run could depend on
#: it without its being in the key; PYTHONOPTIMIZE, for example, removes every assert.
SYSTEM = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX"),
        *("CUDA_HOME", "CUDA_PATH", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONUSERBASE", "PYTHONNOUSERSITE"),
        *("PYTHONPYCACHEPREFIX", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
_OWN_PREFIX = "TCLAB_"


def inherited_variables() -> dict[str, str]:
    """Return the variables of this process that a snippet inherits unchanged."""
    return {
        name: value
        for name, value in os.environ.items()
        if _is_passed_on(name) and name not in (*THREADS, *_SET_VARIABLES)
    }


def _is_passed_on(name: str) -> bool:
    return name in SYSTEM or name.startswith(_OWN_PREFIX) or settings.belongs_to_pytorch(name)


def gpu_variables() -> dict[str, str | None]:
    """Return the changes that undo `NO_GPU` for one job; the value None removes a variable."""
    return {name: os.environ.get(name) for name in NO_GPU}


def timed_variables() -> dict[str, str | None]:
    """Return the changes that give a timed snippet the threads of a plain Python; the value None
    removes a variable.
    """
    return dict.fromkeys(SAFE_TO_FORK)


def all_variables(cache: Path, job: Path | None = None) -> dict[str, str]:
    """Return all variables of a run. `cache` holds compiled objects, `job` is the run's own
    folder.
    """
    env = inherited_variables() | _SET_VARIABLES | NO_GPU | cache_folders(cache)
    env["PYTHONPATH"] = _python_path(os.environ)
    # the user's packages are in the user's home, not in the run's
    env["PYTHONUSERBASE"] = site.getuserbase()
    return env | (job_variables(job) if job else {})


def cache_folders(cache: Path) -> dict[str, str]:
    """Return the cache folders of Inductor and Triton. The runs share these folders, to save
    time.
    """
    return {
        inductor_cache.VARIABLE: str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }


def job_variables(job: Path) -> dict[str, str]:
    """Return the variables that name a run's own folders. Files that programs keep in the home
    folder count as files of the run, and are removed together with the run's files.
    """
    return {"TMPDIR": str(job / "tmp"), "HOME": str(job / "home"), "TCLAB_JOB": str(job)}


def _python_path(env: Mapping[str, str]) -> str:
    """Return a PYTHONPATH with the folder of this tclab first, then the caller's folders."""
    package = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
