"""Register networks in training: a loss and its backward."""

from __future__ import annotations

import functools

import torch
from torch.nn import functional

from tclab.workshop.catalog.example import FunctionCall, add
from tclab.workshop.catalog.models import vision
from tclab.workshop.catalog.models.networks import T5, TWO_LAYERS, tokens

IMAGES = (
    *("resnet18", "vit_tiny_patch16_224", "convnext_tiny", "efficientnet_b0", "regnety_004"),
    *("mobilenetv3_large_100", "mixer_s16_224"),
)
TEXT = ("bert", "gpt2", "llama", "distilbert", "qwen2")


def _classifier_call(name: str) -> FunctionCall:
    model = vision.network(name).train().requires_grad_(True)
    wanted = torch.randint(0, 1000, (8,))
    return lambda x: functional.cross_entropy(model(x), wanted), (vision.images(8, 224),)


def _language_model_call(name: str) -> FunctionCall:
    model = TWO_LAYERS[name].make_for_inference().train().requires_grad_(True)
    return lambda ids: model(input_ids=ids, labels=ids).loss, (tokens(),)


def _t5_call() -> FunctionCall:
    model = T5.make_for_inference().train().requires_grad_(True)
    return lambda ids: model(input_ids=ids, labels=ids).loss, (tokens(),)


for _name in IMAGES:
    add(f"training/{_name}", functools.partial(_classifier_call, _name), backward=True)
for _name in TEXT:
    add(f"training/{_name}", functools.partial(_language_model_call, _name), backward=True)
add("training/t5", _t5_call, backward=True)
