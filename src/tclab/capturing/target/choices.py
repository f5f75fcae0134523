"""Make the choices for which PyTorch asks the GPU, by PyTorch's own rules, or refuse the operator.

A refusal is a TargetError that names the operator and the user's line, and says what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import fx

from tclab.capturing.target import attention, fallbacks, gaps
from tclab.capturing.target.refusals import remember_errors
from tclab.capturing.target.timing import padding
from tclab.capturing.target.traced_lines import find_line_of_node, find_traced_line
from tclab.targets import Target, TargetError

#: Inductor's setting → the reason why the setting is refused: it times candidates on the GPU, or
#: needs a CUDA build. A setting with an empty reason is allowed.
_TIMING_SETTINGS = {
    "max_autotune": "times kernels on the GPU",
    "max_autotune_gemm": "times matrix products on the GPU",
    "max_autotune_pointwise": "times kernels on the GPU",
    "coordinate_descent_tuning": "times kernels on the GPU",
    "benchmark_fusion": "times fused and unfused kernels on the GPU",
    "benchmark_combo_kernel": "times kernels on the GPU",
    "benchmark_epilogue_fusion": "",
    "force_pointwise_cat": "",
    "triton.multi_kernel": "times several kernels on the GPU",
    "triton.autotune_at_compile_time": "times kernels on the GPU",
    "triton.autotune_with_sample_inputs": "times kernels on the GPU",
    "cpp_wrapper": "writes C++ that only a CUDA build can compile",
    "autotune_remote_cache": "reads what other machines timed",
}

#: Function in Dynamo's graph → the reason why PyTorch looks at the GPU to pick its operator.
_PICKED_BY_GPU = {
    "_transformer_encoder_layer_fwd": "it picks an attention kernel by the GPU",
    "_native_multi_head_attention": "it picks an attention kernel by the GPU",
    "lstm": "cuDNN runs it on a GPU", "gru": "cuDNN runs it on a GPU",
    "rnn_tanh": "cuDNN runs it on a GPU", "rnn_relu": "cuDNN runs it on a GPU",
}  # fmt: skip

#: Parts of the names of operators that PyTorch uses only on the CPU.
_CPU_OPERATORS = ("_for_cpu", "mkldnn", "onednn", "mkl.", "mkl_", "quantized_lstm")
#: Operators whose result or layout a library of the GPU decides.
_LIBRARY_OPERATORS = {
    "_cudnn_rnn", "_cudnn_rnn_backward", "miopen_batch_norm", "_cudnn_ctc_loss",
}  # fmt: skip


@contextmanager
def deciding_for(target: Target, backward: bool) -> Iterator[None]:
    """Make the choices of a compile within the block as on `target`, or raise TargetError. Without
    `backward`, choices for gradients are not made, because their code is not shown.
    """
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime import benchmarking

    with ExitStack() as stack:
        patch = stack.enter_context
        patch(attention.choosing_attention_for(target))
        patch(padding.deciding_padding_for(target, backward))
        patch(fallbacks.running_fallbacks_on_cpu())
        patch(mock.patch.object(GraphLowering, "run", _check_before_lowering(GraphLowering.run)))
        for cls in _list_benchmarkers(benchmarking):
            for name in [n for n in vars(cls) if n.startswith("benchmark")]:
                patch(mock.patch.object(cls, name, remember_errors(_refuse_timing)))
        select = _refuse_amd_convolution if target.gfx else _select_conv_backend
        patch(mock.patch.object(torch._C, "_select_conv_backend", remember_errors(select)))
        patch(
            mock.patch.object(
                torch._C,
                "_conv_determine_backend_memory_format",
                remember_errors(_conv_memory_format),
            )
        )
        yield


def _list_benchmarkers(module: Any) -> list[type]:
    classes = [v for v in vars(module).values() if isinstance(v, type)]
    return [v for v in classes if issubclass(v, module.Benchmarker)]


# ------------------------------------------------------------------------------ settings


def check_settings(patches: Mapping[str, object]) -> None:
    """Raise TargetError for settings with which Inductor chooses kernels by timing on the GPU."""
    from torch._inductor import config

    with config.patch({k: v for k, v in patches.items() if hasattr_dotted(config, k)}):
        for name, why in _TIMING_SETTINGS.items():
            if why and getattr_dotted(config, name):
                raise TargetError(
                    f"torch.compile option {name}", f"Inductor then {why}, and there is none here",
                    "leave it out, or capture on the GPU",
                )  # fmt: skip


def hasattr_dotted(config: Any, name: str) -> bool:
    try:
        getattr_dotted(config, name)
    except AttributeError:
        return False
    return True


def getattr_dotted(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


# ------------------------------------------------------------------------------ graphs


def check_dynamo_graph(module: fx.GraphModule) -> None:
    """Raise TargetError if a Dynamo graph calls a function in `_PICKED_BY_GPU`."""
    for inner in module.modules():
        for node in inner.graph.nodes if isinstance(inner, fx.GraphModule) else ():
            name = _operator_name(node)
            if node.op in ("call_function", "call_method") and name in _PICKED_BY_GPU:
                raise TargetError(
                    f"{name}, {find_line_of_node(node)}", f"not known for a GPU that is not there: "
                    f"{_PICKED_BY_GPU[name]}", "capture on the GPU",
                )  # fmt: skip


def _check_before_lowering(run: Any) -> Any:
    def check_and_run(self: Any, *args: Any) -> Any:
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                _check_operator(node)
        return run(self, *args)

    return check_and_run


def _check_operator(node: fx.Node) -> None:
    name = str(node.target)
    packet = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if any(part in name for part in _CPU_OPERATORS):
        why = "an operator of the CPU, which the GPU would not get"
    elif packet in _LIBRARY_OPERATORS:
        why = "its kernel or layout is chosen by a library of the GPU"
    elif _runs_on_host(node):
        gaps.defer_host_operator(gaps.HostOperator(name, find_line_of_node(node)))
        return
    else:
        return
    raise TargetError(
        f"{name}, {find_line_of_node(node)}", why, "capture on the GPU, or without target="
    )


def _runs_on_host(node: fx.Node) -> bool:
    """Return whether a node computes a CPU tensor with at least one dimension."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.dim() == 0:
        return False
    return isinstance(node.target, torch._ops.OpOverload)


def _operator_name(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target)).rpartition(".")[2]


# ------------------------------------------------------------------------------ timing


def _refuse_timing(*args: Any, **kwargs: Any) -> Any:
    raise TargetError("Inductor", "it wants to time a kernel on the GPU to choose",
                      "capture on the GPU")  # fmt: skip


# ------------------------------------------------------------------------------ convolution


def _select_conv_backend(*args: Any, **kwargs: Any) -> str:
    """Replace ``torch._C._select_conv_backend``: answer cuDNN, or raise TargetError if cuDNN is
    switched off.

    PyTorch calls it with all arguments by name (2.11) or with the tensors by position (2.13).
    """
    data = args[0] if args else kwargs["input"]
    if data.device.type == "cuda" and not torch.backends.cudnn.enabled:
        raise TargetError(
            f"convolution, {find_traced_line()}",
            "cuDNN is switched off",
            "torch.backends.cudnn.enabled",
        )
    return "cudnn"


def _refuse_amd_convolution(*args: Any, **kwargs: Any) -> str:
    """Replace ``torch._C._select_conv_backend`` for a GPU of AMD's."""
    raise TargetError(
        f"convolution, {find_traced_line()}",
        "which library runs it on AMD's GPUs, and in which layout, is not known here",
        "capture on the GPU",
    )


def _conv_memory_format(
    data: torch.Tensor, weight: torch.Tensor, backend: str
) -> torch.memory_format:
    """Return the memory format of a convolution with cuDNN (aten/src/ATen/native/ConvUtils.h:
    cudnn_conv_suggest_memory_format).

    A depthwise convolution can also run in a kernel of PyTorch's own, but only if its tensors are
    contiguous; tensors in channels-last go to cuDNN (Convolution.cpp: use_cudnn_depthwise). So this
    rule is right for both kernels.
    """
    channels_last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(weight.dim())
    if channels_last is None or torch.float64 in (data.dtype, weight.dtype):
        return torch.contiguous_format
    if not _is_channels_last(data, channels_last) and not _is_channels_last(weight, channels_last):
        return torch.contiguous_format
    return channels_last


def _is_channels_last(tensor: torch.Tensor, channels_last: torch.memory_format) -> bool:
    """Return whether the strides are those of channels-last, by PyTorch's heuristic in Python (in
    C++: TensorImpl::is_strides_like_channels_last).
    """
    from torch._prims_common import suggest_memory_format

    return suggest_memory_format(tensor) == channels_last
