"""Select the environment variables of PyTorch and its libraries to publish with a run.

A value is published if it is a switch, or if its variable is known to hold a number or one of a few
words. The value of any other variable could be a password or a path, so only its name is published.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tclab.text.scrub import scrub

_PREFIXES = (
    *("TORCH", "TRITON", "INDUCTOR", "PYTORCH", "OMP_", "MKL_", "KMP_", "AOT", "ATEN_"),
    *("ONEDNN_", "DNNL_", "AMDGCN_", "NVPTX_", "GOMP_"),
)

# Variables that say where something is kept or written, or that tclab itself sets. They do not
# change the output of a run.
_UNPUBLISHED = re.compile(
    r".*(_CACHE|CACHE_DIR|CACHE_PATH|DUMP_DIR|DEBUG_DIR|EXTENSIONS_DIR|PARETO_DIR|_HOME)$"
    r"|TORCHINDUCTOR_COMPILE_THREADS|TORCH_TRACE|TORCH_LOGS_OUT"
)

_SWITCH = re.compile(r"|[01]|true|false|on|off|yes|no|none", re.IGNORECASE)

#: Published variables whose names begin with none of `_PREFIXES`.
_FURTHER_NAMES = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "CXX",
    "CUBLAS_WORKSPACE_CONFIG",
    "OPENBLAS_CORETYPE",
)

#: Variables that say where compilers, headers and libraries are. They belong to one machine.
PLACES = (
    *("CC", "CUDACXX", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_PRELOAD", "LD_LIBRARY_PATH", "OMP_PREFIX"),
    *("HALIDE_LIB", "HALIDE_INCLUDE", "TORCHINDUCTOR_CUTLASS_DIR", "TORCHINDUCTOR_CK_DIR"),
    *("TRITON_OVERRIDE_DIR", "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"),
    *("TRITON_LIBDEVICE_PATH", "TRITON_CUDART_PATH", "TRITON_CUDACRT_PATH"),
    *("TRITON_LIBCUDA_PATH", "TRITON_LIBHIP_PATH", "TRITON_CUPTI_LIB_PATH"),
    *("TRITON_CUOBJDUMP_PATH", "TRITON_NVDISASM_PATH"),
)

#: Variables of PyTorch's and Triton's configuration whose names begin with none of `_PREFIXES`.
_CONFIGURATION = (
    *("CUTEDSL_ENABLE_AUTOTUNING", "CUTLASS_EPILOGUE_FUSION", "ENABLE_PERSISTENT_TMA_MATMUL"),
    *("ENABLE_TEMPLATE_TMA_STORE", "ENABLE_TMA_LOAD_FOR_TEMPLATE_EPILOGUE", "FAKE_ALLOW_META"),
    *("FX_GRAPH_SHOW_DEVICE", "FX_GRAPH_SHOW_META", "FX_GRAPH_SHOW_STRIDE", "FX_PATCH_GETITEM"),
    *("PARTITIONER_MEMORY_BUDGET_PARETO", "PT2_COMPILE_ID_PREFIX", "TENSORIFY_PYTHON_SCALARS"),
    *("SPLITTER_MERGE_OVERLAPPING_FUSIONS", "UNSAFE_SKIP_FSDP_MODULE_GUARDS", "TVM_SCHEDULER"),
    *("DUMP_AOTI_MINIFIER", "CUDA_LAUNCH_BLOCKING", "DISABLE_PTXAS_OPT", "PTXAS_OPTIONS"),
    *("LLVM_EXTRACT_DI_LOCAL_VARIABLES", "USE_IR_LOC"),
)
_PUBLISHED_NAMES = frozenset({*_FURTHER_NAMES, *PLACES, *_CONFIGURATION})

#: Variables whose value, a number or one of a few words, is published.
_PUBLIC_VALUES = frozenset(
    {
        *_FURTHER_NAMES,
        *("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"),
        *("OMP_STACKSIZE", "OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "OMP_DYNAMIC"),
        *("MKL_NUM_THREADS", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_THREADING_LAYER"),
        *("KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_HW_SUBSET"),
        *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "TVM_SCHEDULER"),
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


def hide_value(_: str) -> str:
    """Return the replacement for a value that could be a secret."""
    return "hidden"


def published_settings(
    environ: Mapping[str, str], hide: Callable[[str], str] = hide_value
) -> dict[str, str]:
    """Map each published variable to its value, with paths scrubbed. `hide` returns the replacement
    for a value that could be a secret.
    """
    return {
        name: scrub(value) if name in _PUBLIC_VALUES or _SWITCH.fullmatch(value) else hide(value)
        for name, value in sorted(environ.items())
        if belongs_to_pytorch(name) and not is_unpublished(name)
    }


def belongs_to_pytorch(name: str) -> bool:
    """Return whether a variable belongs to PyTorch, to a library that PyTorch uses, or to a
    compiler.
    """
    return name.startswith(_PREFIXES) or name in _PUBLISHED_NAMES


def is_unpublished(name: str) -> bool:
    """Return whether a variable only says where something is kept, or tclab sets it itself."""
    return _UNPUBLISHED.fullmatch(name) is not None
