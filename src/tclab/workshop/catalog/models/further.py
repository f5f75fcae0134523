"""Register networks of timm and transformers that test the rules for targets, in inference and
training.

No rule was written for these networks, because they were chosen before they were compared.
"""

from __future__ import annotations

import functools

import torch
from torch.nn import functional

from tclab.workshop.catalog.example import FunctionCall, add
from tclab.workshop.catalog.models import vision
from tclab.workshop.catalog.models.networks import LANGUAGE, MASKED, Network, tokens

#: Name → (batch, side of the image in pixels).
IMAGES = {
    "eva02_tiny_patch14_224": (2, 224),
    "vit_relpos_small_patch16_224": (2, 224),
    "swinv2_tiny_window8_256": (2, 256),
    "coat_lite_tiny": (2, 224),
    "mvitv2_tiny": (2, 224),
    "hiera_tiny_224": (2, 224),
    "tiny_vit_5m_224": (2, 224),
    "gcvit_xxtiny": (2, 224),
    "efficientvit_m0": (2, 224),
    "swiftformer_xs": (2, 224),
    "caformer_s18": (2, 224),
    "inception_next_tiny": (8, 224),
    "resnest14d": (8, 224),
    "mambaout_femto": (8, 224),
    "starnet_s1": (8, 224),
    "mobilenetv4_conv_small": (8, 224),
    "ese_vovnet19b_dw": (8, 224),
    "levit_128": (2, 224),
    "twins_svt_small": (2, 224),
    "crossvit_tiny_240": (2, 240),
    "volo_d1_224": (2, 224),
    "convit_tiny": (2, 224),
    "tnt_s_patch16_224": (2, 224),
    "visformer_small": (2, 224),
    "efficientformer_l1": (2, 224),
    "repvit_m1": (2, 224),
    "davit_tiny": (2, 224),
}
_TWO_LAYERS = {"num_hidden_layers": 2, "vocab_size": 32000}
_HEADS = {"hidden_size": 512, "num_attention_heads": 8}
_GATED = _TWO_LAYERS | _HEADS | {"intermediate_size": 1408, "num_key_value_heads": 4}
_GPT = {"n_layer": 2, "n_head": 8, "n_embd": 512, "vocab_size": 32000}

TEXT = {
    "falcon": Network("Falcon", LANGUAGE, _TWO_LAYERS | _HEADS),
    "mpt": Network("Mpt", LANGUAGE, {"n_layers": 2, "n_heads": 8, "d_model": 512}),
    "codegen": Network("CodeGen", LANGUAGE, _GPT | {"rotary_dim": 32}),
    "gpt_bigcode": Network("GPTBigCode", LANGUAGE, _GPT),
    "phi3": Network("Phi3", LANGUAGE, _GATED | {"pad_token_id": 0}),
    "gemma2": Network("Gemma2", LANGUAGE, _GATED | {"head_dim": 64}),
    "stablelm": Network("StableLm", LANGUAGE, _GATED),
    "olmo2": Network("Olmo2", LANGUAGE, _GATED | {"eos_token_id": 2}),
    "starcoder2": Network("Starcoder2", LANGUAGE, _GATED),
    "nemotron": Network("Nemotron", LANGUAGE, _GATED | {"head_dim": 64}),
    "biogpt": Network("BioGpt", LANGUAGE, {"num_hidden_layers": 2}),
    "mpnet": Network("MPNet", MASKED, {"num_hidden_layers": 2}),
    "convbert": Network("ConvBert", MASKED, {"num_hidden_layers": 2}),
    "roformer": Network("RoFormer", MASKED, {"num_hidden_layers": 2}),
    "fnet": Network("FNet", MASKED, {"num_hidden_layers": 2}),
    "xlnet": Network("XLNet", "LMHeadModel", {"n_layer": 2, "d_model": 512, "n_head": 8}),
}

IMAGES_IN_TRAINING = (
    *("coat_lite_tiny", "hiera_tiny_224", "efficientvit_m0", "swiftformer_xs"),
    *("resnest14d", "starnet_s1"),
)
TEXT_IN_TRAINING = (
    *("falcon", "gpt_bigcode", "phi3", "gemma2", "starcoder2", "biogpt", "mpnet", "roformer"),
)


def _images(name: str, batch: int, side: int) -> FunctionCall:
    return vision.network(name), (vision.images(batch, side),)


def _text(network: Network) -> FunctionCall:
    return network.make_for_inference(), (tokens(),)


def _classifier(name: str) -> FunctionCall:
    batch, side = IMAGES[name]
    model = vision.network(name).train().requires_grad_(True)
    wanted = torch.randint(0, 1000, (batch,))
    return lambda x: functional.cross_entropy(model(x), wanted), (vision.images(batch, side),)


def _language(name: str) -> FunctionCall:
    model = TEXT[name].make_for_inference().train().requires_grad_(True)
    return lambda ids: model(input_ids=ids, labels=ids).loss, (tokens(),)


for _name, (_batch, _side) in IMAGES.items():
    add(f"further/{_name}", functools.partial(_images, _name, _batch, _side))
for _name, _network in TEXT.items():
    add(f"further/{_name}", functools.partial(_text, _network))
for _name in IMAGES_IN_TRAINING:
    add(f"further/{_name}_training", functools.partial(_classifier, _name), backward=True)
for _name in TEXT_IN_TRAINING:
    add(f"further/{_name}_training", functools.partial(_language, _name), backward=True)
