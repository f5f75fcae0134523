"""Register networks of timm for images, in inference.

A batch of 2 gives some matrix products sizes that are not aligned; a batch of 8 does not.
"""

from __future__ import annotations

import functools

import torch

from tclab.workshop.catalog.example import FunctionCall, add

#: Name → (batch, side of the image in pixels).
MODELS = {
    "resnet18": (2, 224),
    "vit_tiny_patch16_224": (2, 224),
    "convnext_tiny": (2, 224),
    "efficientnet_b0": (2, 224),
    "mobilenetv3_large_100": (2, 224),
    "swin_tiny_patch4_window7_224": (2, 224),
    "mixer_s16_224": (2, 224),
    "regnety_004": (2, 224),
    "resnet50": (8, 224),
    "densenet121": (8, 224),
    "vgg11_bn": (8, 224),
    "inception_v3": (8, 299),
    "xception41": (8, 299),
    "deit_tiny_patch16_224": (8, 224),
    "beit_base_patch16_224": (8, 224),
    "poolformer_s12": (8, 224),
    "mobilevit_s": (8, 256),
    "ghostnet_100": (8, 224),
    "repvgg_a0": (8, 224),
    "res2net50_26w_4s": (8, 224),
    "cspdarknet53": (8, 256),
    "gmlp_s16_224": (8, 224),
    "resmlp_12_224": (8, 224),
    "tf_efficientnetv2_b0": (8, 224),
    "edgenext_small": (8, 256),
}


def network(name: str) -> torch.nn.Module:
    """Return a network of timm with random weights, in evaluation mode."""
    import timm

    model: torch.nn.Module = timm.create_model(name, pretrained=False)
    return model.eval().requires_grad_(False)


def images(batch: int, side: int) -> torch.Tensor:
    """Return random images of [batch, 3, side, side]."""
    return torch.randn(batch, 3, side, side)


def _call(name: str, batch: int, side: int) -> FunctionCall:
    return network(name), (images(batch, side),)


for _name, (_batch, _side) in MODELS.items():
    add(f"vision/{_name}", functools.partial(_call, _name, _batch, _side))
