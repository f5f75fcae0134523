"""The variables of PyTorch and its libraries that are set, for whoever looks at a run.

A value is told where it is a switch, or where its variable is known to hold a number or a word of
a fixed choice. Any other could hold a password or a path: its name is told, its value is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tclab.scrub import scrub

_PREFIXES = ("TORCH", "TRITON", "INDUCTOR", "PYTORCH", "OMP_", "MKL_", "KMP_", "AOT", "ATEN_")

# Folders, and what tclab sets itself: they do not change what a run shows.
_NOT_TOLD = re.compile(r".*(_DIR|_HOME|_PATH|_CACHE)$|TORCHINDUCTOR_COMPILE_THREADS|TORCH_TRACE")

_SWITCH = re.compile(r"|[01]|true|false|on|off|yes|no|none", re.IGNORECASE)

#: Others than those that `_PREFIXES` begin, and those that hold a number or a word.
_NAMES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "CXX", "CUBLAS_WORKSPACE_CONFIG")
_HARMLESS = frozenset(
    {
        *_NAMES,
        *("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"),
        *("OMP_STACKSIZE", "OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "OMP_DYNAMIC"),
        *("MKL_NUM_THREADS", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_THREADING_LAYER"),
        *("KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_HW_SUBSET"),
        *("ATEN_CPU_CAPABILITY", "TORCH_CUDA_ARCH_LIST", "PYTORCH_ROCM_ARCH"),
        *("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
        *("TORCH_LOGS", "TORCH_CPP_LOG_LEVEL", "TORCH_DISTRIBUTED_DEBUG"),
        *("TORCH_COMPILE_BACKEND", "TORCH_COMPILE_GRAPH_FORMAT"),
        *("TORCHDYNAMO_REPRO_AFTER", "TORCHDYNAMO_REPRO_LEVEL", "AOTINDUCTOR_REPRO_LEVEL"),
        *("AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL", "TORCHINDUCTOR_WORKER_START"),
        *("TORCHINDUCTOR_CPP_GEMM_CACHE_BLOCKING", "TORCHINDUCTOR_CPP_GEMM_MAX_K_SLICES"),
        *("TORCHINDUCTOR_CPP_GEMM_THREAD_FACTORS", "TORCHINDUCTOR_CPP_MARCH"),
        *("TORCHINDUCTOR_CPP_MAX_HORIZONTAL_FUSION_SIZE", "TORCHINDUCTOR_CPP_MIN_CHUNK_SIZE"),
        *("TORCHINDUCTOR_COORDINATE_DESCENT_RADIUS", "TORCHINDUCTOR_MIN_NUM_SPLIT"),
        *("TORCHINDUCTOR_CUTLASS_INSTANTIATION_LEVEL", "TORCHINDUCTOR_DECOMPOSE_K_THRESHOLD"),
        *("TORCHINDUCTOR_DEFAULT_AUTOTUNE_REP", "TORCHINDUCTOR_DEFAULT_AUTOTUNE_WARMUP"),
        *("TORCHINDUCTOR_DISABLED_PASSES", "TORCHINDUCTOR_FX_COMPILE_MODE"),
        *("TORCHINDUCTOR_MAX_AUTOTUNE_CONV_BACKENDS", "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"),
        *("TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_SEARCH_SPACE", "TORCHINDUCTOR_MEMORY_POOL"),
        *("TORCHINDUCTOR_MAX_AUTOTUNE_FLEX_SEARCH_SPACE", "TORCHINDUCTOR_MULTI_KERNEL"),
        *("TORCHINDUCTOR_NUM_DECOMPOSE_K_SPLITS", "TORCHINDUCTOR_NVGEMM_MAX_PROFILING_CONFIGS"),
        *("TORCHINDUCTOR_AUTOTUNE_NUM_CHOICES_DISPLAYED", "TORCHINDUCTOR_UNIQUE_KERNEL_NAMES"),
        *("TRITON_DEFAULT_BACKEND", "TRITON_F32_DEFAULT", "TRITON_OVERRIDE_ARCH"),
        *("TRITON_MOCK_PTX_VERSION", "TRITON_INSTRUMENTATION_MODE", "TRITON_MAX_TENSOR_NUMEL"),
    }
)


def hidden(_: str) -> str:
    """What stands for a value that could be a secret."""
    return "hidden"


def told(environ: Mapping[str, str], hide: Callable[[str], str] = hidden) -> dict[str, str]:
    """Each such variable, without folders. `hide` makes what stands for a value that may be a
    secret.
    """
    return {
        name: scrub(value) if name in _HARMLESS or _SWITCH.fullmatch(value) else hide(value)
        for name, value in sorted(environ.items())
        if (name.startswith(_PREFIXES) or name in _NAMES) and not _NOT_TOLD.fullmatch(name)
    }
