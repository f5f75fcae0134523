"""Language and speech models of transformers, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import nn

from tclab.bench.measured import models
from tclab.bench.measured.subject import Subject

#: By name: the configuration's class, what differs from its defaults, the model's class.
_ENCODER, _CAUSAL, _PAIR = "AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
_SMALL_DECODER: dict[str, Any] = {
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
_WIDE: dict[str, Any] = {
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


def _pair(width: int, heads: int) -> dict[str, Any]:
    """Six layers of encoder and of decoder."""
    sides = {
        side: {"layers": 6, "attention_heads": heads, "ffn_dim": 4 * width}
        for side in ("encoder", "decoder")
    }
    named = {f"{side}_{key}": value for side, of in sides.items() for key, value in of.items()}
    return {"d_model": width, **named}


_MODELS: Mapping[str, tuple[str, dict[str, Any], str]] = {
    "bert_base": ("BertConfig", {}, _ENCODER),
    "distilbert": ("DistilBertConfig", {}, _ENCODER),
    "roberta_base": ("RobertaConfig", {"max_position_embeddings": 514}, _ENCODER),
    "albert_base": (
        "AlbertConfig",
        _WIDE,
        _ENCODER,
    ),
    "electra_small": ("ElectraConfig", {}, _ENCODER),
    "deberta_small": (
        "DebertaV2Config",
        _WIDE
        | {"num_hidden_layers": 6, "relative_attention": True, "position_buckets": 256}
        | {"pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"},
        _ENCODER,
    ),
    "gpt2": ("GPT2Config", {}, _CAUSAL),
    "opt_125m": ("OPTConfig", {}, _CAUSAL),
    "pythia_160m": (
        "GPTNeoXConfig",
        _WIDE | {"num_hidden_layers": 12},
        _CAUSAL,
    ),
    "llama_small": ("LlamaConfig", _SMALL_DECODER, _CAUSAL),
    "qwen2_small": ("Qwen2Config", _SMALL_DECODER, _CAUSAL),
    "t5_small": ("T5Config", {}, _PAIR),
    "bart_base": (
        "BartConfig",
        _pair(768, 12),
        _PAIR,
    ),
    "whisper_base": (
        "WhisperConfig",
        _pair(512, 8),
        "WhisperForConditionalGeneration",
    ),
    "wav2vec2_base": ("Wav2Vec2Config", {"mask_time_prob": 0.0, "layerdrop": 0.0}, _ENCODER),
}
_PAIRED = (_PAIR, "WhisperForConditionalGeneration")


class First(nn.Module):
    """A model with the first of its outputs: logits, or the last hidden state."""

    def __init__(self, model: nn.Module, pair: bool) -> None:
        super().__init__()
        self.model, self.pair = model, pair

    def forward(self, given: torch.Tensor, decoded: torch.Tensor | None = None) -> Any:
        """`given` are tokens [batch, tokens] or sound; `decoded` the decoder's own tokens."""
        if self.pair:
            return self.model(given, decoder_input_ids=decoded, use_cache=False, return_dict=False)[
                0
            ]
        return self.model(given, return_dict=False)[0]


def _model(name: str, device: str) -> nn.Module:
    config_name, changes, model_name = _MODELS[name]
    config = getattr(transformers, config_name)(**changes)
    for key, value in vars(config).items():
        if "drop" in key and isinstance(value, float):
            setattr(config, key, 0.0)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    of = getattr(transformers, model_name)
    with torch.device(device):
        model = of.from_config(config) if model_name.startswith("Auto") else of(config)
    return First(model, model_name in _PAIRED)


def _inputs(name: str, batch: int, tokens: int, device: str) -> Callable[[int], tuple[Any, ...]]:
    """Random tokens below 1000, in every vocabulary here; for speech, sound."""

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(seed)
        text = torch.randint(5, 1000, (batch, tokens), device=device)
        dtype = models.dtype_on(device)
        if name == "wav2vec2_base":  # five seconds at 16 kHz
            return (torch.randn(batch, 80000, device=device, dtype=dtype),)
        if name == "whisper_base":  # thirty seconds as a spectrogram [batch, 80, 3000]
            return torch.randn(batch, 80, 3000, device=device, dtype=dtype), text[:, :64]
        return (text, text.flip(0)) if _MODELS[name][2] == _PAIR else (text,)

    return inputs


def text(device: str, *, name: str, tokens: int, batch: int, tiny: int = 0) -> Subject:
    """The forward of a batch of token sequences, or of sound."""
    return models.inference(_model(name, device), _inputs(name, batch, tokens, device), device)


def text_training(device: str, *, name: str, tokens: int, batch: int, tiny: int = 0) -> Subject:
    """A step: the first output's mean square against random numbers for an encoder, else the
    cross entropy of the next token.
    """
    given = _inputs(name, batch, tokens, device)
    encoder = _MODELS[name][2] == _ENCODER

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        arguments = given(seed)
        if encoder:
            return *arguments, torch.randn(batch, tokens, 1, device=device)
        return *arguments, torch.randint(5, 1000, (batch, tokens), device=device)

    loss = _square if encoder else _next_token
    return models.training(_model(name, device), inputs, loss, device)


def _square(hidden: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (hidden - target).square().mean()


def _next_token(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())
