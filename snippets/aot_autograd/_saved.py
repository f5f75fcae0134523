"""What autograd holds from forward to backward, counted by storage while a function runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def saved(fn: Callable[..., torch.Tensor], *args: torch.Tensor) -> tuple[dict[int, int], Any]:
    """Bytes of each storage saved for the backward, by address; and the gradients of `args`.

    Several views of one storage count once, whatever the graph calls them.
    """
    storages: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = fn(*args)
    wanted = [arg for arg in args if arg.requires_grad]
    return storages, torch.autograd.grad(result.sum(), wanted)


def activations(storages: dict[int, int], *args: torch.Tensor) -> int:
    """Bytes of `storages` that are not those of an argument, which exists anyway."""
    there = {arg.untyped_storage().data_ptr() for arg in args}
    return sum(size for address, size in storages.items() if address not in there)
