"""Build language and speech models of transformers, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.models import builders
from tclab.workshop.catalog.models.networks import ENCODER, GENERATION, PAIR, WHOLE
from tclab.workshop.catalog.subject import Subject, inference_dtype


class FirstOutput(nn.Module):
    """A model that returns only its first output: logits, or the last hidden state."""

    def __init__(self, model: nn.Module, pair: bool) -> None:
        super().__init__()
        self.model, self.pair = model, pair

    def forward(self, given: torch.Tensor, decoded: torch.Tensor | None = None) -> Any:
        """Return the first output. `given` are tokens [batch, tokens] or sound; `decoded` are the
        decoder's tokens.
        """
        if self.pair:
            return self.model(given, decoder_input_ids=decoded, use_cache=False, return_dict=False)[
                0
            ]
        return self.model(given, return_dict=False)[0]


def _model(name: str, device: str) -> nn.Module:
    network = WHOLE[name]
    configuration = network.configuration()
    for key, value in vars(configuration).items():
        if "drop" in key and isinstance(value, float):
            setattr(configuration, key, 0.0)
    if hasattr(configuration, "use_cache"):
        configuration.use_cache = False
    with torch.device(device):
        return FirstOutput(network.make_model(configuration), network.head in (PAIR, GENERATION))


def _inputs(name: str, batch: int, tokens: int, device: str) -> Callable[[int], tuple[Any, ...]]:
    """Return a function that makes random tokens below 1000, which are in each model's vocabulary,
    or sound for a speech model.
    """

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(seed)
        text = torch.randint(5, 1000, (batch, tokens), device=device)
        dtype = inference_dtype(device)
        if name == "wav2vec2_base":  # sound of five seconds at 16 kHz
            return (torch.randn(batch, 80000, device=device, dtype=dtype),)
        if name == "whisper_base":  # sound of thirty seconds as a spectrogram [batch, 80, 3000]
            return torch.randn(batch, 80, 3000, device=device, dtype=dtype), text[:, :64]
        return (text, text.flip(0)) if WHOLE[name].head == PAIR else (text,)

    return inputs


def text(device: str, *, name: str, tokens: int, batch: int, tiny: int = 0) -> Subject:
    """Run the forward of a batch of token sequences, or of sound. `tiny` has no effect; the suites
    pass it to the builder of every model.
    """
    return builders.make_inference(
        _model(name, device), _inputs(name, batch, tokens, device), device
    )


def text_training(device: str, *, name: str, tokens: int, batch: int, tiny: int = 0) -> Subject:
    """Train one step.

    The loss of an encoder is the mean square difference between its output and random numbers; the
    loss of any other model is the cross entropy of the next token.
    """
    make_arguments = _inputs(name, batch, tokens, device)
    encoder = WHOLE[name].head == ENCODER

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        arguments = make_arguments(seed)
        if encoder:
            return *arguments, torch.randn(batch, tokens, 1, device=device)
        return *arguments, torch.randint(5, 1000, (batch, tokens), device=device)

    loss = _mean_square if encoder else _next_token
    return builders.make_training(_model(name, device), inputs, loss, device)


def _mean_square(hidden: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (hidden - target).square().mean()


def _next_token(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())
