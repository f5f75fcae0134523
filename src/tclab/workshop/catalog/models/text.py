"""Register networks of transformers for text, in inference."""

from __future__ import annotations

import functools

import torch

from tclab.workshop.catalog.example import FunctionCall, add
from tclab.workshop.catalog.models.networks import CLIP, T5, TWO_LAYERS, WHISPER, Network, tokens


def _call(network: Network) -> FunctionCall:
    return network.make_for_inference(), (tokens(),)


for _name, _network in TWO_LAYERS.items():
    add(f"text/{_name}", functools.partial(_call, _network))


def _t5() -> FunctionCall:
    model = T5.make_for_inference()
    return lambda source, wanted: model(input_ids=source, decoder_input_ids=wanted).logits, (
        tokens(), tokens(length=64))  # fmt: skip


def _whisper() -> FunctionCall:
    model = WHISPER.make_for_inference()
    return lambda sound, text: model(input_features=sound, decoder_input_ids=text).logits, (
        torch.randn(1, 80, 3000), tokens(1, 32))  # fmt: skip


def _clip() -> FunctionCall:
    model = CLIP.make_for_inference()
    return lambda text, image: model(input_ids=text, pixel_values=image).logits_per_image, (
        tokens(2, 77), torch.randn(2, 3, 224, 224))  # fmt: skip


add("text/t5", _t5)
add("text/whisper", _whisper)
add("text/clip", _clip)
