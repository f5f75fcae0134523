"""Names in PyTorch's own texts, held against the installed PyTorch.

`SETTINGS` and `VARIABLES` are of pages below
[docs/source/user_guide/torch_compiler](https://github.com/pytorch/pytorch/tree/main/docs/source/user_guide/torch_compiler)
and of [.claude/skills/debugging-torchcompile](https://github.com/pytorch/pytorch/tree/main/.claude/skills/debugging-torchcompile),
as they were read in November 2026. The texts are those of the main branch, which is ahead of a
release. A variable exists if a Python file of the compiler names it.
"""

from pathlib import Path

import torch
import torch._functorch.config
from torch._dynamo import config as dynamo
from torch._inductor import config as inductor

import tclab

FOLDERS = ("_dynamo", "_functorch", "_inductor", "_logging", "compiler")
MODULES = {"dynamo": dynamo, "functorch": torch._functorch.config, "inductor": inductor}
SETTINGS = {
    "sqlite_cache": "",
    "torch.compiler_complex_number_support": "functorch.enable_complex_wrapper",
    "torch.compiler_inductor_caching": """inductor.fx_graph_cache inductor.fx_graph_remote_cache
        inductor.bundle_triton_into_fx_graph_cache inductor.autotune_local_cache""",
    "torch.compiler_inductor_configs": """inductor.max_fusion_size inductor.compile_threads
        inductor.nan_asserts inductor.alignment_asserts inductor.shape_padding""",
    "torch.compiler_inductor_debugging": "inductor.triton.inject_relu_bug_TESTING_ONLY",
    "debugging-torchcompile/dynamo": """dynamo.cache_size_limit dynamo.suppress_errors
        dynamo.inline_inbuilt_nn_modules dynamo.assume_static_by_default""",
    "debugging-torchcompile/inductor": """inductor.verbose_progress inductor.pattern_matcher
        inductor.triton.debug_sync_kernel inductor.cpp.simdlen inductor.trace.enabled""",
    "debugging-torchcompile/aot_inductor": "inductor.aot_inductor.dump_aoti_minifier",
}
VARIABLES = {
    "sqlite_cache": "TORCHINDUCTOR_CACHE_BACKEND TORCHINDUCTOR_CACHE_DIR",
    "torch.compiler_inductor_caching": "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "torch.compiler_inductor_debugging": """TORCHINDUCTOR_NAN_ASSERTS
        TORCHINDUCTOR_FORCE_DISABLE_CACHES""",
    "torch.compiler_inductor_profiling": """TORCHINDUCTOR_UNIQUE_KERNEL_NAMES
        TORCHINDUCTOR_BENCHMARK_KERNEL TORCHINDUCTOR_MAX_AUTOTUNE""",
    "debugging-torchcompile/inductor": """TORCHINDUCTOR_TRITON_CUDAGRAPHS TORCHINDUCTOR_FREEZING
        TORCHDYNAMO_REPRO_AFTER AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT""",
    "debugging-torchcompile/aot_inductor": "AOTI_RUNTIME_CHECK_INPUTS DUMP_AOTI_MINIFIER",
}
root = Path(torch.__file__).parent
files = [path for folder in FOLDERS for path in root.joinpath(folder).rglob("*.py")]
source = "\n".join(path.read_text(encoding="utf-8") for path in files)


def is_setting(name):
    module, _, setting = name.partition(".")
    return setting in MODULES[module]._config or hasattr(MODULES[module], setting)


rows = [
    *((name, text, is_setting(name)) for text, names in SETTINGS.items() for name in names.split()),
    *((name, text, name in source) for text, names in VARIABLES.items() for name in names.split()),
]
columns = ("name", "in the text", "in this PyTorch")
shown = [(name, text, "yes" if there else "no") for name, text, there in rows]
tclab.show(tclab.Table("Names in PyTorch's texts", "names", columns, shown))
missing = {name for name, _, there in rows if not there}


def refused(after):
    """The error of a compile under a value of TORCHDYNAMO_REPRO_AFTER; empty for none."""
    torch._dynamo.reset()
    try:
        with dynamo.patch(repro_after=after):
            torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(2))
    except Exception as error:
        return type(error).__name__
    return ""


# claim: no-file-names-these-variables
assert missing - {"functorch.enable_complex_wrapper"} == {
    "TORCHINDUCTOR_CACHE_BACKEND",
    "TORCHINDUCTOR_TRITON_CUDAGRAPHS",
}
# claim: all-others-are-there
assert len(rows) - len(missing) >= 32
# claim: unique-names-are-on
assert inductor.triton.unique_kernel_names is True
# claim: no-minifier-after-inductor
assert not refused("aot") and refused("inductor")
