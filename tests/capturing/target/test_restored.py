"""The process is afterwards as it was, also after an error."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest
import torch
import torch._functorch.config
import torch._inductor.config
from torch._dynamo import device_interface
from torch.utils import _triton
from triton.backends import backends
from triton.runtime import driver

import tclab
from tclab.capturing.target import patterns, stand_in
from tclab.capturing.torch_private import device_guards, targets
from tclab.capturing.torch_private.private import Private
from tclab.targets import TargetError


def snapshot() -> dict[str, Any]:
    """Everything a target stands in for, by identity where it is an object."""
    sdpa = torch.ops.aten.scaled_dot_product_attention.default
    key = torch._C.DispatchKey.AutogradCUDA
    return {
        "torch.cuda": {n: id(v) for n, v in vars(torch.cuda).items()},
        "interfaces": {n: id(v) for n, v in device_interface.device_interfaces.items()},
        "worker": dict(device_interface.caching_worker_device_properties),
        "driver": id(driver._active),
        "backends": {n: id(b) for n, b in backends.items()},
        "guards": list(device_guards.guard_slots()),
        "engine": id(torch.autograd._engine_run_backward),
        "names": {str(p): id(_static(p)) for p in targets.NAMES if not _is_made_when_asked(p)},
        "inductor": torch._inductor.config.save_config_portable(),
        "functorch": torch._functorch.config.save_config_portable(),
        "patterns": {id(p): patterns.copy_patterns(p) for p in patterns.pattern_passes()},
        "lazy": {n: id(f) for n, (_, _, f) in patterns.lazy_inits().items()},
        "available": (torch.cuda.is_available(), _triton.has_triton()),
        "attention": (dict(sdpa.py_kernels), torch._C._dispatch_has_kernel_for_dispatch_key(
            "aten::scaled_dot_product_attention", key)),
        "whole": [torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{n}", "CUDA")
                  for n in stand_in._WHOLE_ON_CUDA],
        "environment": {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
    }  # fmt: skip


def _is_made_when_asked(private: Private) -> bool:
    """What is another object each time; of settings, the values are compared as a whole."""
    of_objects = {"DeviceProperties.create", "driver.set_active", "driver._active"}
    return private.name in of_objects or private.module.endswith((".config", ".ops"))


def _static(private: Private) -> Any:
    import importlib

    value: Any = importlib.import_module(private.module)
    for part in private.name.split("."):
        value = inspect.getattr_static(value, part)
    return value


@pytest.fixture(scope="module", autouse=True)
def imported(pointwise_h200: Any) -> None:
    """Modules that a first capture imports are there before the first snapshot."""
    torch.compile(lambda x: x + 1)(torch.randn(3))


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [k for k in before if before[k] != after[k]]


def test_after_a_capture() -> None:
    before = snapshot()
    tclab.capture(torch.sigmoid, target="a100")(torch.randn(16))
    assert changed(before, snapshot()) == []


def test_after_a_refusal_in_the_midst_of_compiling() -> None:
    before = snapshot()
    with pytest.raises(TargetError):
        tclab.capture(torch.relu, target="t4")(torch.randn(8, dtype=torch.bfloat16))
    assert changed(before, snapshot()) == []


def test_after_an_error_of_the_function() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(7)

    before = snapshot()
    with pytest.raises(Exception, match="7"):
        tclab.capture(fn, target="h200")(torch.randn(8))
    assert changed(before, snapshot()) == []


def test_the_cpu_compiles_as_before() -> None:
    """C++ for the CPU before and after a target, the same; and no device remembered."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2, -1)

    x = torch.randn(8, 64)
    before = tclab.capture(fn)(x).kernels[0].code
    tclab.capture(fn, target="h200")(x)
    after = tclab.capture(fn)(x)
    assert after.kernels[0].code == before
    assert torch.allclose(after.result, fn(x))


def test_a_target_after_the_cpu_and_another_target_is_the_same_target() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).sum(-1)

    x = torch.randn(64, 512)
    first = tclab.capture(fn, target="h200")(x).kernels[0].code
    tclab.capture(fn)(x)
    other = tclab.capture(fn, target="t4")(x).kernels[0].code
    assert tclab.capture(fn, target="h200")(x).kernels[0].code == first != other
