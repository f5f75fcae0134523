"""Make the catalogue's networks of transformers, with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

#: The heads that are names of transformers' auto classes. Any other head is the end of a class's
#: name.
ENCODER, CAUSAL, PAIR = "AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
LANGUAGE, MASKED, GENERATION = "ForCausalLM", "ForMaskedLM", "ForConditionalGeneration"


@dataclass(frozen=True)
class Network:
    """A model class of transformers and the changes to its default configuration.

    ``Bert`` with the head ``ForMaskedLM`` is the class ``BertForMaskedLM`` with a ``BertConfig``.
    """

    kind: str
    head: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def configuration(self) -> Any:
        """Return a new configuration."""
        return getattr(_import_transformers(), f"{self.kind}Config")(**self.changes)

    def make_model(self, configuration: Any) -> Any:
        """Return a new model with this configuration."""
        if self.head.startswith("Auto"):
            return getattr(_import_transformers(), self.head).from_config(configuration)
        return getattr(_import_transformers(), self.kind + self.head)(configuration)

    def make_for_inference(self) -> Any:
        """Return a new model in evaluation mode, without gradients."""
        return self.make_model(self.configuration()).eval().requires_grad_(False)


def _import_transformers() -> Any:
    import transformers

    return transformers


_TWO = {"num_hidden_layers": 2}
_WIDE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
_NARROW = {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048}
#: A decoder like those of current models, with the width of a small model.
_DECODER = {
    **_TWO,
    "hidden_size": 512,
    "intermediate_size": 1408,
    "vocab_size": 32000,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
}

#: Networks of two layers, for examples.
TWO_LAYERS: dict[str, Network] = {
    "bert": Network("Bert", MASKED, _TWO),
    "gpt2": Network("GPT2", "LMHeadModel", {"n_layer": 2}),
    "llama": Network("Llama", LANGUAGE, _DECODER),
    "qwen2": Network("Qwen2", LANGUAGE, _DECODER),
    "mixtral": Network("Mixtral", LANGUAGE, _DECODER | {"num_local_experts": 4}),
    "distilbert": Network("DistilBert", MASKED, {"n_layers": 2}),
    "roberta": Network("Roberta", MASKED, _TWO | {"vocab_size": 50265}),
    "albert": Network("Albert", MASKED, _TWO | _WIDE),
    "electra": Network("Electra", MASKED, _TWO),
    "mobilebert": Network("MobileBert", MASKED, _TWO),
    "deberta_v2": Network("DebertaV2", MASKED, _TWO | _WIDE),
    "opt": Network("OPT", LANGUAGE, _TWO),
    "gpt_neox": Network("GPTNeoX", LANGUAGE, _TWO | _NARROW),
    "mistral": Network("Mistral", LANGUAGE, _DECODER),
    "phi": Network("Phi", LANGUAGE, _TWO | _NARROW),
    "gemma": Network("Gemma", LANGUAGE, _DECODER | {"head_dim": 64}),
    "qwen3": Network("Qwen3", LANGUAGE, _DECODER | {"head_dim": 64}),
    "bloom": Network(
        *("Bloom", LANGUAGE),
        {"n_layer": 2, "hidden_size": 512, "n_head": 8, "vocab_size": 32000},
    ),
}
T5 = Network("T5", GENERATION, {"num_layers": 2, "decoder_start_token_id": 0})
WHISPER = Network("Whisper", GENERATION, {"encoder_layers": 2, "decoder_layers": 2})
CLIP = Network("CLIP", "Model", {"text_config": _TWO, "vision_config": _TWO})


def _both_sides(width: int, heads: int) -> dict[str, Any]:
    """Return the changes for six layers of encoder and of decoder."""
    one = {"layers": 6, "attention_heads": heads, "ffn_dim": 4 * width}
    sides = {f"{s}_{key}": value for s in ("encoder", "decoder") for key, value in one.items()}
    return {"d_model": width, **sides}


_BASE_SIZE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
_SMALL_DECODER = _BASE_SIZE | {
    "intermediate_size": 2048,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}

#: Networks to time, with their published size or a small one.
WHOLE: dict[str, Network] = {
    "bert_base": Network("Bert", ENCODER),
    "distilbert": Network("DistilBert", ENCODER),
    "roberta_base": Network("Roberta", ENCODER, {"max_position_embeddings": 514}),
    "albert_base": Network("Albert", ENCODER, _WIDE),
    "electra_small": Network("Electra", ENCODER),
    "deberta_small": Network(
        *("DebertaV2", ENCODER),
        _WIDE
        | {"num_hidden_layers": 6, "relative_attention": True, "position_buckets": 256}
        | {"pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"},
    ),
    "gpt2": Network("GPT2", CAUSAL),
    "opt_125m": Network("OPT", CAUSAL),
    "pythia_160m": Network("GPTNeoX", CAUSAL, _WIDE | {"num_hidden_layers": 12}),
    "llama_small": Network("Llama", CAUSAL, _SMALL_DECODER),
    "qwen2_small": Network("Qwen2", CAUSAL, _SMALL_DECODER),
    "t5_small": Network("T5", PAIR),
    "bart_base": Network("Bart", PAIR, _both_sides(768, 12)),
    "whisper_base": Network("Whisper", GENERATION, _both_sides(512, 8)),
    "wav2vec2_base": Network("Wav2Vec2", ENCODER, {"mask_time_prob": 0.0, "layerdrop": 0.0}),
}


def tokens(batch: int = 2, length: int = 128) -> torch.Tensor:
    """Return tokens of [batch, length] that are in each vocabulary of `TWO_LAYERS`."""
    return torch.randint(0, 30000, (batch, length))
