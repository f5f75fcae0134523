"""Choices that PyTorch makes by asking the GPU: made as it would, or refused by name.

Each refusal is a TargetError with the operator, the user's line and what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import fx

from tclab.capturing.target import attention, fallbacks, gaps
from tclab.capturing.target.places import being_traced, of_node
from tclab.capturing.target.refusals import loud
from tclab.capturing.target.timing import padding
from tclab.targets import Target, TargetError

#: Settings that make Inductor time candidates on the GPU, or write code of another kind.
_TIMED = {
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

#: Functions of Dynamo's graph whose operator is picked by looking at the GPU.
_PICKED = {
    "_transformer_encoder_layer_fwd": "it picks an attention kernel by the GPU",
    "_native_multi_head_attention": "it picks an attention kernel by the GPU",
    "lstm": "cuDNN runs it on a GPU", "gru": "cuDNN runs it on a GPU",
    "rnn_tanh": "cuDNN runs it on a GPU", "rnn_relu": "cuDNN runs it on a GPU",
}  # fmt: skip

#: Operators of the lowered graph that only another device gets.
_FOREIGN = ("_for_cpu", "mkldnn", "onednn", "mkl.", "mkl_", "quantized_lstm")
#: Operators whose result or layout depends on libraries of the GPU that are not asked here.
_LIBRARY = {
    "_cudnn_rnn", "_cudnn_rnn_backward", "miopen_batch_norm", "_cudnn_ctc_loss",
}  # fmt: skip


@contextmanager
def decided(target: Target) -> Iterator[None]:
    """For the length of the block, no choice is left to a GPU that is not there."""
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime import benchmarking

    with ExitStack() as stack:
        patch = stack.enter_context
        patch(attention.chosen_for(target))
        patch(padding.chosen_for(target))
        patch(fallbacks.answered())
        patch(mock.patch.object(GraphLowering, "run", _checked(GraphLowering.run)))
        for cls in _benchmarkers(benchmarking):
            for name in [n for n in vars(cls) if n.startswith("benchmark")]:
                patch(mock.patch.object(cls, name, loud(_timing)))
        patch(mock.patch.object(torch._C, "_select_conv_backend", loud(_conv_backend)))
        patch(
            mock.patch.object(torch._C, "_conv_determine_backend_memory_format", loud(_conv_format))
        )
        yield


def _benchmarkers(module: Any) -> list[type]:
    classes = [v for v in vars(module).values() if isinstance(v, type)]
    return [v for v in classes if issubclass(v, module.Benchmarker)]


# ------------------------------------------------------------------------------ settings


def check_settings(patches: Mapping[str, object]) -> None:
    """Refuse settings under which the GPU's own timings decide which kernels there are."""
    from torch._inductor import config

    with config.patch({k: v for k, v in patches.items() if hasattr_dotted(config, k)}):
        for name, why in _TIMED.items():
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
    """Refuse functions whose operator the GPU picks, before anything is picked."""
    for inner in module.modules():
        for node in inner.graph.nodes if isinstance(inner, fx.GraphModule) else ():
            name = _name(node)
            if node.op in ("call_function", "call_method") and name in _PICKED:
                raise TargetError(
                    f"{name}, {of_node(node)}", f"not known for a GPU that is not there: "
                    f"{_PICKED[name]}", "capture on the GPU",
                )  # fmt: skip


def _checked(run: Any) -> Any:
    def checked(self: Any, *args: Any) -> Any:
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                _check_operator(node)
        return run(self, *args)

    return checked


def _check_operator(node: fx.Node) -> None:
    name = str(node.target)
    packet = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if any(part in name for part in _FOREIGN):
        why = "an operator of the CPU, which the GPU would not get"
    elif packet in _LIBRARY:
        why = "its kernel or layout is chosen by a library of the GPU"
    elif _on_host(node):
        gaps.suspect(_host_kernel(name, node))
        return
    else:
        return
    raise TargetError(f"{name}, {of_node(node)}", why, "capture on the GPU, or without target=")


def _host_kernel(name: str, node: fx.Node) -> TargetError:
    return TargetError(
        f"{name}, {of_node(node)}",
        "it runs on the CPU, beside the GPU: its C++ kernel depends on the host's processor, and "
        "is shown for this one",
        "make the tensor on the GPU, if it is not meant to be on the CPU",
    )


def _on_host(node: fx.Node) -> bool:
    """An elementwise or larger operation on a CPU tensor of more than one element."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.dim() == 0:
        return False
    return isinstance(node.target, torch._ops.OpOverload)


def _name(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target)).rpartition(".")[2]


# ------------------------------------------------------------------------------ timing


def _timing(*args: Any, **kwargs: Any) -> Any:
    raise TargetError("Inductor", "it wants to time a kernel on the GPU to choose",
                      "capture on the GPU")  # fmt: skip


# ------------------------------------------------------------------------------ convolution


def _conv_backend(*args: Any, **kwargs: Any) -> str:
    """Called with all arguments by name (2.11) or the tensors by position (2.13)."""
    data = args[0] if args else kwargs["input"]
    if data.device.type == "cuda" and not torch.backends.cudnn.enabled:
        raise TargetError(
            f"convolution, {being_traced()}",
            "cuDNN is switched off",
            "torch.backends.cudnn.enabled",
        )
    return "cudnn"


def _conv_format(data: torch.Tensor, weight: torch.Tensor, backend: str) -> torch.memory_format:
    """What cuDNN asks for (aten/src/ATen/native/ConvUtils.h: cudnn_conv_suggest_memory_format).

    A depthwise convolution has a kernel of PyTorch's beside cuDNN's, for tensors that are
    contiguous; cuDNN has every one in channels-last (Convolution.cpp: use_cudnn_depthwise). So its
    layout is the same whichever is taken.
    """
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(weight.dim())
    if last is None or torch.float64 in (data.dtype, weight.dtype):
        return torch.contiguous_format
    if not _suggests(data, last) and not _suggests(weight, last):
        return torch.contiguous_format
    return last


def _suggests(tensor: torch.Tensor, last: torch.memory_format) -> bool:
    """c10 TensorImpl::is_strides_like_channels_last, through the same heuristic in Python."""
    from torch._prims_common import suggest_memory_format

    return suggest_memory_format(tensor) == last
