"""Register models with other dtypes, memory formats, symbolic sizes, CUDA graphs, or a cache."""

from __future__ import annotations

from typing import Any

import torch

from tclab.workshop.catalog.example import FunctionCall, add
from tclab.workshop.catalog.models import vision
from tclab.workshop.catalog.models.networks import TWO_LAYERS, tokens


def _bert(dtype: torch.dtype) -> FunctionCall:
    return TWO_LAYERS["bert"].make_for_inference().to(dtype), (tokens(),)


def _llama_bf16() -> FunctionCall:
    return TWO_LAYERS["llama"].make_for_inference().to(torch.bfloat16), (tokens(),)


def _resnet_fp16_channels_last() -> FunctionCall:
    last: Any = {"memory_format": torch.channels_last}
    model = vision.network("resnet18").half().to(**last)
    return model, (vision.images(8, 224).half().to(**last),)


def _convnext_channels_last() -> FunctionCall:
    last: Any = {"memory_format": torch.channels_last}
    return vision.network("convnext_tiny").to(**last), (vision.images(8, 224).to(**last),)


def _vit_autocast() -> FunctionCall:
    model = vision.network("vit_tiny_patch16_224")

    def classify(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            logits: torch.Tensor = model(x)
        return logits

    return classify, (vision.images(8, 224),)


def _decoding_step() -> FunctionCall:
    """Generate one token, with a static cache of keys and values on the tokens' device."""
    import transformers

    model = TWO_LAYERS["llama"].make_for_inference()
    cache = transformers.StaticCache(config=model.config, max_cache_len=256)
    heads = model.config.num_key_value_heads
    cache.early_initialization(2, heads, 64, torch.float32, torch.device("cpu"))
    slots = [(layer, name) for layer in cache.layers for name, value in vars(layer).items()
              if isinstance(value, torch.Tensor)]  # fmt: skip

    def step(ids: torch.Tensor, *state: torch.Tensor) -> torch.Tensor:
        for (layer, name), tensor in zip(slots, state):
            setattr(layer, name, tensor)
        for layer in cache.layers:
            layer.device = ids.device
        logits: torch.Tensor = model(input_ids=ids, past_key_values=cache).logits
        return logits

    return step, (tokens(2, 1), *(getattr(layer, name) for layer, name in slots))


add("ways/bert_bf16", lambda: _bert(torch.bfloat16))
add("ways/bert_fp16", lambda: _bert(torch.float16))
add("ways/bert_dynamic", lambda: _bert(torch.float32), dynamic=True)
add("ways/bert_reduce_overhead", lambda: _bert(torch.float32), mode="reduce-overhead")
add("ways/llama_bf16", _llama_bf16)
add("ways/resnet18_fp16_channels_last", _resnet_fp16_channels_last)
add("ways/convnext_channels_last", _convnext_channels_last)
add("ways/vit_autocast_bf16", _vit_autocast)
add("ways/llama_decoding_step", _decoding_step)
