"""A chain of blocks whose results the backward needs, and how they are marked for offloading."""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch import config
from torch.autograd.graph import saved_tensors_hooks


def net(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """[rows, width] through a block for each weight [width, width]; a number."""
    for weight in weights:
        x = torch.sin(torch.exp(torch.tanh(x @ weight)))
    return x.sum()


def data(blocks: int, rows: int, width: int, device: str) -> list[torch.Tensor]:
    """The input and a weight for each block; all ask for gradients."""
    torch.manual_seed(0)
    shapes = [(rows, width), *[(width, width)] * blocks]
    tensors = [torch.randn(shape, device=device) / width**0.5 for shape in shapes]
    return [tensor.requires_grad_() for tensor in tensors]


def mark(joint: torch.fx.GraphModule, _: Any) -> torch.fx.GraphModule:
    """Every result may be offloaded; of those, the ones that are saved will be."""
    for node in joint.graph.nodes:
        node.meta["should_offload"] = node.op == "call_function"
    return joint


def offloading(marked: bool) -> Any:
    """The switch, with or without the pass that marks; for a compile inside."""
    chosen = mark if marked else None
    return config.patch(enable_activation_offloading=True, joint_custom_pass=chosen)


def hooks_that_keep_strides() -> saved_tensors_hooks:
    """As `save_on_cpu(pin_memory=True)`, but a copy on the host has its tensor's strides."""

    def pack(tensor: torch.Tensor) -> tuple[torch.device, torch.Tensor]:
        on_host = torch.empty_like(tensor, device="cpu", pin_memory=torch.cuda.is_available())
        return tensor.device, on_host.copy_(tensor)

    def unpack(packed: tuple[torch.device, torch.Tensor]) -> torch.Tensor:
        device, on_host = packed
        return on_host.to(device, non_blocking=True)

    return saved_tensors_hooks(pack, unpack)
