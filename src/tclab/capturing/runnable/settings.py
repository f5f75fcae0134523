"""Take the settings of Inductor that a runnable prints."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tclab.capturing.runnable.values import Items, Value, refuse

_INDUCTOR = "torch._inductor.config."
#: Settings that say where things are, who compiles, or what is logged; and those that a replay
#: sets itself.
_LEFT_OUT = (
    *("fx_graph_", "autotune_", "bundle", "compile_threads", "worker_", "cpp.cxx", "trace."),
    *("aot_inductor", "cuda.", "rocm.", "xpu.", "cutlass.", "save_args", "force_disable_caches"),
    *("debug", "verbose", "profile_bandwidth", "profiler_mark", "remote_", "triton.store_cubin"),
    *("_", "test_configs.", "generate_intermediate_hooks", "benchmark_kernel", "cpp_wrapper"),
)
#: The settings whose value is a text → the values that it may have.
_TEXTS = {
    "triton.descriptive_names": {"original_aten", "inductor_node", "torch"},
    "emulate_precision_casts": set(),
    "cpp.descriptive_names": {"original_aten", "inductor_node", "torch"},
    "comment_origin": set(),
    "layout_opt_default": {"0", "1"},
    "triton.codegen_upcast_to_fp32": set(),
}


def setting_values(printed: Mapping[str, Value]) -> dict[str, object]:
    """Return the settings of Inductor that change its code, as in ``config.patch``. Raises Refused
    for a setting that this PyTorch does not have, and for a value that is no plain one.
    """
    from torch._inductor import config

    found: dict[str, object] = {}
    known = config.get_config_copy()
    for path, value in printed.items():
        name = path.removeprefix(_INDUCTOR)
        if not path.startswith(_INDUCTOR) or name.startswith(_LEFT_OUT):
            continue
        if name not in known:
            raise refuse(path, ast.Constant(None), "this PyTorch has no such setting")
        found[name] = _plain(path, name, value)
    return found


def _plain(path: str, name: str, value: Value) -> object:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str) and value in _TEXTS.get(name, ()):
        return value
    if isinstance(value, Items) and all(isinstance(v, (bool, int, float)) for v in value.values):
        return tuple(value.values) if value.is_tuple else list(value.values)
    raise refuse(path, ast.Constant(None), "its value is no number, and none that is known")
