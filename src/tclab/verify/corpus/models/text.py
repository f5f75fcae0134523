"""Networks for text, from transformers, in inference."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from tclab.verify.corpus import Made, add

_LAYERS = {"num_hidden_layers": 2}
#: A decoder as they are today, of a small one's width.
_SMALL = {
    **_LAYERS,
    "hidden_size": 512,
    "intermediate_size": 1408,
    "vocab_size": 32000,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
}

#: name → class of the model, class of its configuration, what differs from its defaults.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", "BertConfig", _LAYERS),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 2}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", _SMALL),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", _SMALL),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**_SMALL, "num_local_experts": 4}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", {"n_layers": 2}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**_LAYERS, "vocab_size": 50265}),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {**_LAYERS, "hidden_size": 768,
                "num_attention_heads": 12, "intermediate_size": 3072}),
    "electra": ("ElectraForMaskedLM", "ElectraConfig", _LAYERS),
    "mobilebert": ("MobileBertForMaskedLM", "MobileBertConfig", _LAYERS),
    "deberta_v2": ("DebertaV2ForMaskedLM", "DebertaV2Config", {**_LAYERS, "hidden_size": 768,
                    "num_attention_heads": 12, "intermediate_size": 3072}),
    "opt": ("OPTForCausalLM", "OPTConfig", _LAYERS),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**_LAYERS, "hidden_size": 512,
                  "num_attention_heads": 8, "intermediate_size": 2048}),
    "mistral": ("MistralForCausalLM", "MistralConfig", _SMALL),
    "phi": ("PhiForCausalLM", "PhiConfig", {**_LAYERS, "hidden_size": 512,
             "intermediate_size": 2048, "num_attention_heads": 8}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**_SMALL, "head_dim": 64}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**_SMALL, "head_dim": 64}),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"n_layer": 2, "hidden_size": 512, "n_head": 8,
               "vocab_size": 32000}),
}  # fmt: skip


def network(name: str) -> torch.nn.Module:
    """A network of transformers' with random weights, in inference."""
    model_class, config_class, changes = MODELS[name]
    model: torch.nn.Module = _inference(model_class, config_class, **changes)
    return model


def tokens(batch: int = 2, length: int = 128) -> torch.Tensor:
    """[batch, length], in every vocabulary here"""
    return torch.randint(0, 30000, (batch, length))


def _made(name: str) -> Made:
    return network(name), (tokens(),)


for _name in MODELS:
    add(f"text/{_name}", functools.partial(_made, _name))


def t5() -> Any:
    """T5-small with two layers of each kind, in inference."""
    return _inference("T5ForConditionalGeneration", "T5Config", num_layers=2,
                      decoder_start_token_id=0)  # fmt: skip


def _inference(model: str, config: str, **changes: Any) -> Any:
    transformers = importlib.import_module("transformers")
    own = getattr(transformers, config)(**changes)
    return getattr(transformers, model)(own).eval().requires_grad_(False)


def _t5() -> Made:
    model: Any = t5()
    return lambda source, wanted: model(input_ids=source, decoder_input_ids=wanted).logits, (
        tokens(), tokens(length=64))  # fmt: skip


def _whisper() -> Made:
    model = _inference("WhisperForConditionalGeneration", "WhisperConfig", encoder_layers=2,
                       decoder_layers=2)  # fmt: skip
    return lambda sound, text: model(input_features=sound, decoder_input_ids=text).logits, (
        torch.randn(1, 80, 3000), tokens(1, 32))  # fmt: skip


def _clip() -> Made:
    model = _inference("CLIPModel", "CLIPConfig", text_config=_LAYERS, vision_config=_LAYERS)
    return lambda text, image: model(input_ids=text, pixel_values=image).logits_per_image, (
        tokens(2, 77), torch.randn(2, 3, 224, 224))  # fmt: skip


add("text/t5", _t5)
add("text/whisper", _whisper)
add("text/clip", _clip)
