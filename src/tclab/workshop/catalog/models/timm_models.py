"""Build vision models of timm, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timm
import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.models import builders
from tclab.workshop.catalog.subject import Subject, inference_dtype


def _model(name: str, pixels: int, device: str) -> nn.Module:
    with torch.device(device):
        return timm.create_model(name, pretrained=False, num_classes=1000).to(
            memory_format=torch.channels_last if device == "cuda" else torch.contiguous_format
        )


def _images(batch: int, pixels: int, dtype: torch.dtype, device: str) -> Callable[[int], Any]:
    """Return a function that makes images [batch, 3, pixels, pixels] from a seed, in channels-last
    layout on a GPU for speed.
    """
    layout = torch.channels_last if device == "cuda" else torch.contiguous_format

    def inputs(seed: int) -> tuple[torch.Tensor]:
        torch.manual_seed(seed)
        image = torch.randn(batch, 3, pixels, pixels, device=device, dtype=dtype)
        return (image.to(memory_format=layout),)

    return inputs


def vision(device: str, *, name: str, pixels: int, batch: int, tiny: int = 0) -> Subject:
    """Compute the logits of a batch of images."""
    model = _model(name, pixels, device)
    inputs = _images(batch, pixels, inference_dtype(device), device)
    return builders.make_inference(model, inputs, device)


def vision_training(device: str, *, name: str, pixels: int, batch: int, tiny: int = 0) -> Subject:
    """Train one step of classification into 1000 classes."""
    images = _images(batch, pixels, torch.float32, device)

    def inputs(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        return *images(seed), torch.randint(1000, (batch,), device=device)

    return builders.make_training(_model(name, pixels, device), inputs, F.cross_entropy, device)
