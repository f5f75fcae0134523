"""Which kernel scaled_dot_product_attention gets on a target: by PyTorch's own rules.

The rules are `sdpa.versions`. Only the choice is made here: padding, masks and the call of the
chosen operator are PyTorch's own C++, which asks for a number and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._C import DispatchKey

from tclab import targets
from tclab.capturing.target.decisions import Decision, decided
from tclab.capturing.target.places import being_traced
from tclab.capturing.target.refusals import loud
from tclab.capturing.target.sdpa import versions
from tclab.capturing.target.sdpa.call import BACKENDS, CUDNN_FIRST, NUMBERS, Call, Machine
from tclab.capturing.target.sdpa.choose import Choice, choose
from tclab.capturing.target.sdpa.rule import Version
from tclab.capturing.torch_private import attention_choice
from tclab.targets import Target, TargetError

_NAME = "scaled_dot_product_attention"

#: PyTorch and compute capability of the devices that were asked, and agreed on every call.
VERIFIED = {((2, 11), (9, 0))}


@dataclass
class _Chooser:
    """The choices for one target: made where the tensors are seen, told where C++ asks."""

    target: Target
    version: Version | None
    answers: list[int] = field(default_factory=list)

    def number(self) -> int:
        """The answer to the question that is open, else "error" (-1)."""
        return self.answers[-1] if self.answers else -1

    def machine(self) -> Machine:
        """The target with the switches as they are."""
        deterministic = torch.are_deterministic_algorithms_enabled()
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        return Machine(
            self.target.capability,
            targets.cudnn(self.target, torch.__version__),
            _enabled(),
            tuple(BACKENDS[number] for number in torch._C._get_sdp_priority_order()),
            deterministic and not warns,
        )

    def decision(self, choice: Choice) -> Decision:
        """The choice, as it is shown."""
        verified = (self.version and self.version.torch, self.target.capability) in VERIFIED
        how = "asked of the device" if verified else "not verified on the device"
        return Decision(_NAME, being_traced(), str(choice), f"by PyTorch's rules, {how}")


_choosers: list[_Chooser] = []


@contextmanager
def chosen_for(target: Target) -> Iterator[None]:
    """For the length of the block, attention on a GPU is chosen as on `target`, whoever calls it.

    The tensors are seen in the dispatcher, above the composite operator: in the place of its
    autograd for CUDA, and of its decomposition, which is used without autograd.
    """
    chooser = _Chooser(target, versions.of(torch.__version__))
    with ExitStack() as stack:
        stack.enter_context(_order_of_the_first_call(chooser))
        stack.enter_context(attention_choice.answered_by(chooser.number))
        stack.enter_context(_seen_by(attention))
        _choosers.append(chooser)
        stack.callback(_choosers.pop)
        yield


@contextmanager
def _order_of_the_first_call(chooser: _Chooser) -> Iterator[None]:
    """sdp_utils.cpp: priority_order. The first call in a process may set another order."""
    before = torch._C._get_sdp_priority_order()
    version = chooser.version
    if version and version.prefers_cudnn(chooser.machine()) and not _cudnn_last():
        torch._C._set_sdp_priority_order([NUMBERS[name] for name in CUDNN_FIRST])
    try:
        yield
    finally:
        torch._C._set_sdp_priority_order(before)


def _cudnn_last() -> bool:
    return os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1"


@contextmanager
def _seen_by(function: Any) -> Iterator[None]:
    operator = torch.ops.aten.scaled_dot_product_attention.default
    library = torch.library.Library("aten", "IMPL")
    kernels = dict(operator.py_kernels)
    try:
        library.impl(_NAME, function, "AutogradCUDA")
        operator.py_kernels[DispatchKey.CompositeImplicitAutograd] = function
        _forget()
        yield
    finally:
        library._destroy()
        operator.py_kernels.clear()
        operator.py_kernels.update(kernels)
        _forget()


def _forget() -> None:
    """What was traced for another target is not taken again."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    torch.ops.aten.scaled_dot_product_attention.default._dispatch_cache.clear()
    FakeTensorMode.cache_clear()


@loud
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """scaled_dot_product_attention with the kernel the target takes; TargetError if unknown."""
    tensors = (query, key, value, attn_mask)
    operator = torch.ops.aten.scaled_dot_product_attention.default
    chooser = _choosers[-1]
    answer = -1
    if query.device.type == "cuda":
        answer = _choice(chooser, Call(*tensors, dropout_p, is_causal, enable_gqa))
    chooser.answers.append(answer)
    try:
        composite = DispatchKey.CompositeImplicitAutograd
        rest = {"scale": scale, "enable_gqa": enable_gqa}
        return operator._op_dk(composite, *tensors, dropout_p, is_causal, **rest)
    finally:
        chooser.answers.pop()


def _choice(chooser: _Chooser, call: Call) -> int:
    version, why = chooser.version, _unknown(call)
    if version is None or why:
        raise refusal(why or f"no rules are known for torch {torch.__version__}")
    choice = choose(call, chooser.machine(), version)
    if choice.backend == "error":
        raise RuntimeError("No available kernel. Aborting execution.")  # as PyTorch says it
    decided(chooser.decision(choice))
    return NUMBERS[choice.backend]


def _unknown(call: Call) -> str:
    """Why the rules do not tell, or ''."""
    if any(t.is_nested for t in call.inputs):
        return "the rules for nested tensors look at the lengths, which are not traced"
    if flash := getattr(torch.nn.attention, "current_flash_attention_impl", lambda: None)():
        return f"{flash} is a package of its own, which only a GPU can load"
    return ""


def refusal(why: str) -> TargetError:
    """The error for attention whose kernel is not known."""
    return TargetError(
        f"{_NAME}, {being_traced()}",
        f"PyTorch picks its kernel by the GPU, its libraries and the inputs; {why}",
        "write it out, softmax(q @ k.mT) @ v, with options={'pattern_matcher': False} if Inductor "
        "fuses that; or capture on the GPU",
    )


def _enabled() -> frozenset[str]:
    cuda = torch.backends.cuda
    switches = {
        "flash": cuda.flash_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
        "cudnn": cuda.cudnn_sdp_enabled(),
    }
    return frozenset(name for name, on in switches.items() if on)
