"""The same functions for several systems, and times of calls that are waited for."""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

#: What would run a system where it is installed.
ELSEWHERE = {
    "TensorRT": ("torch_tensorrt", "pip install torch-tensorrt; backend='tensorrt'"),
    "PyTorch/XLA": ("torch_xla", "pip install torch_xla; backend='openxla'"),
    "TVM": ("tvm", "pip install apache-tvm; backend='tvm'"),
    "OpenVINO": ("openvino", "pip install openvino; backend='openvino'"),
    "IPEX": ("intel_extension_for_pytorch", "for Intel devices alone"),
}


def chain(x: Any) -> Any:
    """Eight pointwise operations."""
    return torch.tanh(torch.sigmoid(x) * x + 1.0) * 0.5 + torch.relu(x) - 0.25 * x


def softmax(x: Any) -> Any:
    """Over the last dimension."""
    return torch.softmax(x, -1)


def feed_forward(x: Any, *weights: Any) -> Any:
    """Blocks x + down(gelu(up(norm(x)))), two weights a block."""
    for up, down in zip(weights[::2], weights[1::2]):
        x = x + F.gelu(F.layer_norm(x, x.shape[-1:]) @ up, approximate="tanh") @ down
    return x


def _jax_forms() -> dict[str, Callable[..., Any]]:
    import jax
    import jax.numpy as jnp

    def normed(x: Any) -> Any:
        high = x.astype(jnp.float32)
        off = high - high.mean(-1, keepdims=True)
        return (off * jax.lax.rsqrt((off * off).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype)

    def blocks(x: Any, *weights: Any) -> Any:
        for up, down in zip(weights[::2], weights[1::2]):
            x = x + jax.nn.gelu(normed(x) @ up) @ down
        return x

    def pointwise(x: Any) -> Any:
        return jnp.tanh(jax.nn.sigmoid(x) * x + 1.0) * 0.5 + jax.nn.relu(x) - 0.25 * x

    forms = {"chain": pointwise, "softmax": jax.nn.softmax, "feed_forward": blocks}
    return {name: jax.jit(form) for name, form in forms.items()}


def of_jax(name: str, inputs: Sequence[torch.Tensor]) -> Callable[[], torch.Tensor]:
    """A call of the jitted function on the same memory; the result is a tensor."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    form, arrays = _jax_forms()[name], [jax.dlpack.from_dlpack(x) for x in inputs]
    return lambda: form(*arrays)


def waited(result: Any) -> torch.Tensor:
    """The result once it is there, as a tensor."""
    if isinstance(result, torch.Tensor):
        if result.is_cuda:
            torch.cuda.synchronize()
        return result
    return torch.from_dlpack(result.block_until_ready())


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int = 15) -> dict[str, float]:
    """Median µs of a call of each: a stretch of calls, then one wait, by the host's clock."""
    numbers = {}
    for name, call in calls.items():
        for _ in range(12):
            result = call()
        waited(result)
        numbers[name] = max(3, min(500, round(0.02 / _stretch(call, 5))))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(_stretch(call, numbers[name]))
    return {name: 1e6 * statistics.median(some) for name, some in times.items()}


def _stretch(call: Callable[[], Any], number: int) -> float:
    """Seconds of one call over a stretch of them."""
    start = time.perf_counter()
    for _ in range(number):
        result = call()
    waited(result)
    return (time.perf_counter() - start) / number


def why_not(package: str) -> str:
    """Why a system is not measured here."""
    there = importlib.util.find_spec(package) is not None
    return "installed, and not measured by this" if there else f"{package} is not installed here"


def onnx_runtime() -> str:
    """Why ONNX Runtime is not measured on a GPU: what its build can run on."""
    if importlib.util.find_spec("onnxruntime") is None:
        return "onnxruntime is not installed here"
    import onnxruntime

    return f"this build has {', '.join(onnxruntime.get_available_providers())}: none is a GPU's"
