"""A model as a subject: its forward in bfloat16 on a GPU, or a whole training step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tclab.catalog.subject import Compile, Subject, dtype_on, in_float64

Loss = Callable[[Any, torch.Tensor], torch.Tensor]
#: Below this error nothing is said: the rounding of a dtype through a deep model.
FLOORS = {torch.bfloat16: 2e-2, torch.float32: 1e-4}


def without_dropout(model: nn.Module) -> nn.Module:
    """The model with every dropout's probability 0, so that two steps can be compared."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
    return model


def inference(model: nn.Module, inputs: Callable[[int], tuple[Any, ...]], device: str) -> Subject:
    """The forward of a model in evaluation mode without gradients; outputs are compared."""
    dtype = dtype_on(device)
    model = model.to(device, dtype).eval()

    def exact(*arguments: Any) -> Any:
        return copy.deepcopy(model).double()(*in_float64(arguments))

    return Subject(
        make=lambda compile_: compile_(model),
        inputs=inputs,
        exact=exact,
        floor=FLOORS[dtype],
        weights=sum(p.nbytes for p in model.parameters()),
    )


def training(
    model: nn.Module,
    inputs: Callable[[int], tuple[Any, ...]],
    loss: Loss,
    device: str,
) -> Subject:
    """A step: forward under autocast to bfloat16, loss, backward, AdamW (PyTorch's fused one).

    The last input is what the loss compares with. Weights are float32. What is compared is the
    change of every parameter by a step, against a step in float64 from the same state.
    """
    model = without_dropout(model.to(device)).train()
    step = TrainingStep(model, loss, device)
    return Subject(
        make=step.make,
        inputs=inputs,
        exact=step.exact,
        outcome=step.change,
        floor=FLOORS[torch.bfloat16],
        weights=3 * sum(p.nbytes for p in model.parameters()),
        grad=True,
    )


class TrainingStep:
    """A training step of one model and its optimizer, and what it changes."""

    def __init__(self, model: nn.Module, loss: Loss, device: str) -> None:
        self.model, self.loss, self.device = model, loss, device
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = self._optimizer(self.parameters)

    def _optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=1e-5, fused=True)

    def make(self, compile_: Compile) -> Callable[..., torch.Tensor]:
        """The step with the model compiled; loss and optimizer stay PyTorch's own."""
        forward = compile_(self.model)

        def step(*arguments: Any) -> torch.Tensor:
            self.optimizer.zero_grad()
            with torch.autocast(self.device, torch.bfloat16):
                loss = self.loss(forward(*arguments[:-1]), arguments[-1])
            loss.backward()
            self.optimizer.step()
            return loss.detach()

        return step

    def _state(self) -> list[torch.Tensor]:
        slots = [slot for own in self.optimizer.state.values() for slot in own.values()]
        return [*self.parameters, *(slot for slot in slots if isinstance(slot, torch.Tensor))]

    def change(self, run: Callable[..., Any], arguments: tuple[Any, ...]) -> list[torch.Tensor]:
        """What a step adds to each parameter; parameters and optimizer are as before after it."""
        before = [tensor.detach().clone() for tensor in self._state()]
        run(*arguments)
        changes = [p.detach() - old for p, old in zip(self.parameters, before)]
        with torch.no_grad():
            for tensor, old in zip(self._state(), before, strict=True):
                tensor.copy_(old)
        return changes

    def exact(self, *arguments: Any) -> list[torch.Tensor]:
        """The same change in float64, from a copy of model and optimizer."""
        self.optimizer.zero_grad()
        model = copy.deepcopy(self.model).double()
        parameters = [p for p in model.parameters() if p.requires_grad]
        optimizer = self._optimizer(parameters)
        optimizer.load_state_dict(self.optimizer.state_dict())
        before = [p.detach().clone() for p in parameters]
        double = in_float64(arguments)
        self.loss(model(*double[:-1]), double[-1]).backward()
        optimizer.step()
        return [p.detach() - old for p, old in zip(parameters, before)]
