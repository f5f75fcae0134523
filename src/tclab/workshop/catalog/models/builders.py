"""Make a subject of a model: its forward, or a whole training step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tclab.workshop.catalog.subject import Compile, Subject, convert_to_float64, inference_dtype

Loss = Callable[[Any, torch.Tensor], torch.Tensor]
#: The relative error that rounding causes in a deep model, by dtype.
FLOORS = {torch.bfloat16: 2e-2, torch.float32: 1e-4}


def disable_dropout(model: nn.Module) -> nn.Module:
    """Set each dropout's probability to 0, so that two steps are comparable; return the model."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
    return model


def make_inference(
    model: nn.Module, inputs: Callable[[int], tuple[Any, ...]], device: str
) -> Subject:
    """Return a subject that runs a model's forward in evaluation mode, without gradients."""
    dtype = inference_dtype(device)
    model = model.to(device, dtype).eval()

    def exact(*arguments: Any) -> Any:
        return copy.deepcopy(model).double()(*convert_to_float64(arguments))

    return Subject(
        make=lambda compile_: compile_(model),
        inputs=inputs,
        exact=exact,
        floor=FLOORS[dtype],
        weights=sum(p.nbytes for p in model.parameters()),
    )


def make_training(
    model: nn.Module,
    inputs: Callable[[int], tuple[Any, ...]],
    loss: Loss,
    device: str,
) -> Subject:
    """Return a subject that runs a training step.

    A step is the forward under autocast to bfloat16, the loss, the backward and PyTorch's fused
    AdamW. The last input is the target of the loss. Weights are float32. The change of each
    parameter is compared with its change in a float64 step from the same state.
    """
    model = disable_dropout(model.to(device)).train()
    step = TrainingStep(model, loss, device)
    return Subject(
        make=step.make,
        inputs=inputs,
        exact=step.exact,
        outcome=step.measure_change,
        floor=FLOORS[torch.bfloat16],
        weights=3 * sum(p.nbytes for p in model.parameters()),
        grad=True,
    )


class TrainingStep:
    """A training step of a model and its optimizer, and the changes that it makes."""

    def __init__(self, model: nn.Module, loss: Loss, device: str) -> None:
        self.model, self.loss, self.device = model, loss, device
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = self._make_optimizer(self.parameters)

    def _make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=1e-5, fused=True)

    def make(self, compile_: Compile) -> Callable[..., torch.Tensor]:
        """Return a function that runs a step with the compiled model. Loss and optimizer are not
        compiled.
        """
        forward = compile_(self.model)

        def step(*arguments: Any) -> torch.Tensor:
            self.optimizer.zero_grad()
            with torch.autocast(self.device, torch.bfloat16):
                loss = self.loss(forward(*arguments[:-1]), arguments[-1])
            loss.backward()
            self.optimizer.step()
            return loss.detach()

        return step

    def _state_tensors(self) -> list[torch.Tensor]:
        slots = [slot for own in self.optimizer.state.values() for slot in own.values()]
        return [*self.parameters, *(slot for slot in slots if isinstance(slot, torch.Tensor))]

    def measure_change(
        self, run: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> list[torch.Tensor]:
        """Return the change of each parameter in a step; restore parameters and optimizer."""
        before = [tensor.detach().clone() for tensor in self._state_tensors()]
        run(*arguments)
        changes = [p.detach() - old for p, old in zip(self.parameters, before)]
        with torch.no_grad():
            for tensor, old in zip(self._state_tensors(), before, strict=True):
                tensor.copy_(old)
        return changes

    def exact(self, *arguments: Any) -> list[torch.Tensor]:
        """Return the change of each parameter in a float64 step, from a copy of the state."""
        self.optimizer.zero_grad()
        model = copy.deepcopy(self.model).double()
        parameters = [p for p in model.parameters() if p.requires_grad]
        optimizer = self._make_optimizer(parameters)
        optimizer.load_state_dict(self.optimizer.state_dict())
        before = [p.detach().clone() for p in parameters]
        double = convert_to_float64(arguments)
        self.loss(model(*double[:-1]), double[-1]).backward()
        optimizer.step()
        return [p.detach() - old for p, old in zip(parameters, before)]
