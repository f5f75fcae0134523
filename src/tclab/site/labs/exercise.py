"""Define exercises: the steps that a reader's function must pass, with hints for each failed step.

    close_enough = Exercise("close_enough", "Equal, as far as floats allow")

    @close_enough.step("rounding", "accepts what rounding does", "a first hint", "a plainer one")
    def accepts_rounding(answer, random_inputs):
        x = random_inputs.tensor(64, 64)
        assert answer(x.softmax(-1), x.exp() / x.exp().sum(-1, keepdim=True))

A step calls the reader's function with new random inputs at every check, and asserts about its
results; the reader sees the text of an assert that fails. Each step catches one mistake, and its
hints lead from a question to nearly the answer.
"""

from __future__ import annotations

import importlib
import io
import linecache
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tclab.model import SourceLine

if TYPE_CHECKING:
    from torch import Tensor

#: The reader's function.
Answer = Callable[..., Any]
#: A function that calls the reader's function with random inputs and asserts properties of the
#: results.
Probe = Callable[[Answer, "RandomInputs"], None]


class WrongAnswer(AssertionError):
    """Raised if an answer is wrong; `location` is the line at fault, if it is known."""

    def __init__(self, why: str, location: SourceLine | None = None) -> None:
        super().__init__(why)
        self.location = location


class RandomInputs:
    """A maker of random inputs for an answer. Equal seeds give equal inputs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.integer, self.choice = self.random.randint, self.random.choice

    def tensor(self, *shape: int, dtype: Any = None) -> Tensor:
        """Return a normally distributed tensor of this shape, float32 by default."""
        import torch

        generator = torch.Generator().manual_seed(self.random.getrandbits(32))
        return torch.randn(*shape, generator=generator).to(dtype or torch.float32)


@dataclass(frozen=True)
class Step:
    """One requirement of an exercise. `name` names the mistake that the step catches, and `says` is
    the requirement in the words that the reader sees.
    """

    name: str
    says: str
    hints: tuple[str, ...]
    probe: Probe


@dataclass
class Exercise:
    """An exercise: the reader writes the function or class called `name`. `needs` is a subset of
    `model.NEEDS`.
    """

    name: str
    title: str
    needs: frozenset[str] = frozenset()
    steps: list[Step] = field(default_factory=list)

    def step(self, name: str, requirement: str, *hints: str) -> Callable[[Probe], Probe]:
        """Add the decorated function as a step. Begin with the simplest step."""

        def add(probe: Probe) -> Probe:
            self.steps.append(Step(name, requirement, hints, probe))
            return probe

        return add


_probes = 0


def compile_function(source: str, name: str) -> Answer:
    """Compile `source` as if it were a reader's file, and return its function `name`."""
    global _probes
    _probes += 1
    file = f"probe_{_probes}.py"
    text = textwrap.dedent(source)
    linecache.cache[file] = (len(text), None, io.StringIO(text).readlines(), file)
    namespace: dict[str, Any] = {"torch": importlib.import_module("torch")}
    exec(compile(text, file, "exec"), namespace)
    function: Answer = namespace[name]
    return function
