"""The functions whose chains are known line by line."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812


def relu_chain(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x + 1)
    return y * 2


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    y = F.layer_norm(x, (256,), w, b)
    return y.sigmoid()
