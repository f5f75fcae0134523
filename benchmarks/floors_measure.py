"""Measure one case of `benchmarks.floors` on a GPU: time of a call, busy time, launches. Measure
the cost of a launch on the host.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.floors_cases import Call, Case
from tclab.workshop.catalog.subject import collect_tensors, count_bytes

_ROUNDS = 7
_ROUND_SECONDS = 0.04
#: Kernels of cuBLAS, cuDNN, CUTLASS and the attention libraries compute products.
_PRODUCT = re.compile(
    r"gemm|gemv|nvjet|cutlass|xmma|conv|flash|fmha|attention|cudnn|splitK", re.IGNORECASE
)
_NO_PRODUCT = re.compile(r"^triton_|nchwToNhwc|nhwcToNchw")


def make_step(case: Case, fn: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return a function without arguments that makes one call, with its backward if asked for."""
    if not case.backward:

        def forward() -> Any:
            with torch.no_grad():
                return fn(*arguments)

        return forward
    parameters = [*getattr(fn, "parameters", list)()]
    leaves = [t for t in (*parameters, *arguments) if t.requires_grad]
    with torch.no_grad():
        gradient = torch.ones_like(fn(*arguments))
    return lambda: torch.autograd.grad(fn(*arguments), leaves, gradient)


def compiled_steps(case: Case, call: Call) -> dict[str, Callable[[], Any]]:
    """Compile and warm up the case in the default mode, and with CUDA graphs."""
    fn, arguments = call
    steps: dict[str, Callable[[], Any]] = {}
    for mode in ("default", "reduce-overhead"):
        torch.compiler.reset() if mode == "default" else None
        step = make_step(case, torch.compile(fn, mode=mode, dynamic=False), arguments)
        for _ in range(8):
            step()
        torch.cuda.synchronize()
        steps[mode] = step
    return steps


def time_rounds(steps: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Return the seconds of one call in each of several rounds, in which the steps take turns."""
    counts = {mode: max(3, int(_ROUND_SECONDS / _time(step, 3))) for mode, step in steps.items()}
    times: dict[str, list[float]] = {mode: [] for mode in steps}
    for _ in range(_ROUNDS):
        for mode, step in steps.items():
            times[mode].append(_time(step, counts[mode]))
    return times


def _time(step: Callable[[], Any], calls: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


def profile(step: Callable[[], Any], calls: int = 10) -> dict[str, Any]:
    """Return, for one call: seconds that the GPU was busy, kernels launched, the share of product
    kernels in the busy time, and the kernels that took longest.
    """
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(calls):
            step()
        torch.cuda.synchronize()
    seconds: dict[str, float] = {}
    launches = 0
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            launches += not event.name.startswith(("Memcpy", "Memset"))
            seconds[event.name] = seconds.get(event.name, 0.0) + event.device_time * 1e-6 / calls
    busy = sum(seconds.values())
    products = sum(s for name, s in seconds.items() if _is_product(name))
    top = sorted(seconds.items(), key=lambda item: -item[1])[:5]
    return {
        "busy": busy,
        "launches": launches / calls,
        "product_share": products / busy if busy else 0.0,
        "top": [[name[:90], s] for name, s in top],
    }


def _is_product(name: str) -> bool:
    return bool(_PRODUCT.search(name)) and not _NO_PRODUCT.search(name)


def count_work(case: Case, call: Call) -> dict[str, int]:
    """Count a call's operations by PyTorch's own mode, and the bytes of its inputs, weights and
    results: an independent measure for the kernels.
    """
    fn, arguments = call
    with FlopCounterMode(display=False) as counter:
        result = make_step(case, fn, arguments)()
    weights = collect_tensors(dict(getattr(fn, "named_parameters", dict)()))
    held = [*collect_tensors(arguments), *weights, *collect_tensors(result)]
    return {"operations": int(counter.get_total_flops()), "bytes": count_bytes(tuple(held))}


# --------------------------------------------------------------------------- launches


def measure_launch_costs() -> dict[str, float]:
    """Return seconds on the host for entering a graph, for entering one in training together with
    its backward, for one launch of a generated kernel, and for one library call.
    """

    def softmaxes(count: int) -> Callable[..., Any]:
        def fn(x: torch.Tensor) -> torch.Tensor:
            for number in range(count):
                x = x.softmax(number % 2)
            return x

        return fn

    def products(count: int) -> Callable[..., Any]:
        def fn(x: torch.Tensor) -> torch.Tensor:
            y = x
            for _ in range(count):
                y = y @ x
            return y

        return fn

    x = torch.randn(64, 64, device="cuda")
    half = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
    leaf = torch.randn(64, 64, device="cuda", requires_grad=True)
    few, many = 4, 36
    forward = {count: _host_seconds(_compiled(softmaxes(count), x)) for count in (1, few, many)}
    library = {count: _host_seconds(_compiled(products(count), half)) for count in (few, many)}
    torch.set_grad_enabled(True)
    compiled = torch.compile(lambda x: x.softmax(0), dynamic=False)
    gradient = torch.ones_like(leaf)
    step = _host_seconds(lambda: torch.autograd.grad(compiled(leaf), leaf, gradient))
    kernel = (forward[many] - forward[few]) / (many - few)
    return {
        "graph": forward[1] - kernel,
        "training": step - 2 * kernel,
        "kernel": kernel,
        "library_call": (library[many] - library[few]) / (many - few),
    }


def _compiled(fn: Callable[..., Any], x: torch.Tensor) -> Callable[[], Any]:
    torch.compiler.reset()  # one code object for all counts: a call would try each of its compiles
    compiled = torch.compile(fn, dynamic=False)
    torch.set_grad_enabled(False)
    return lambda: compiled(x)


def _host_seconds(step: Callable[[], Any], calls: int = 20, rounds: int = 40) -> float:
    """Return the least of the host's seconds for issuing one call: the GPU's queue never fills."""
    for _ in range(10):
        step()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        times.append((time.perf_counter() - start) / calls)
    return min(times)
