"""How an exercise is written: what the reader's function must do, and what to say if it does not.

    close_enough = Exercise("close_enough", "Equal, as far as floats allow")

    @close_enough.step("rounding", "accepts what rounding does", "a first hint", "a plainer one")
    def accepts_rounding(answer, draw):
        x = draw.tensor(64, 64)
        assert answer(x.softmax(-1), x.exp() / x.exp().sum(-1, keepdim=True))

A step calls the reader's function with inputs drawn anew at every check, and judges what it does
by asserts, whose texts the reader is shown. Each step catches one way to get it wrong, and has the
hints for that one, from a question to nearly the answer.
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
#: Calls it with inputs that are drawn, and asserts what must hold.
Probe = Callable[[Answer, "Draw"], None]


class Wrong(AssertionError):
    """What is wrong with an answer, and the line that it is about, where there is one."""

    def __init__(self, why: str, location: SourceLine | None = None) -> None:
        super().__init__(why)
        self.location = location


class Draw:
    """Inputs that nobody has seen: the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.integer, self.choice = self.random.randint, self.random.choice

    def tensor(self, *shape: int, dtype: Any = None) -> Tensor:
        """Normally distributed, of this shape."""
        import torch

        generator = torch.Generator().manual_seed(self.random.getrandbits(32))
        return torch.randn(*shape, generator=generator).to(dtype or torch.float32)


@dataclass(frozen=True)
class Step:
    """One thing that must hold. `name` tells what goes wrong where it does not."""

    name: str
    says: str
    hints: tuple[str, ...]
    probe: Probe


@dataclass
class Exercise:
    """What the reader writes: a function or a class of this name. `needs` is of `model.NEEDS`."""

    name: str
    title: str
    needs: frozenset[str] = frozenset()
    steps: list[Step] = field(default_factory=list)

    def step(self, name: str, says: str, *hints: str) -> Callable[[Probe], Probe]:
        """Add what the decorated function probes; the first step is the simplest."""

        def add(probe: Probe) -> Probe:
            self.steps.append(Step(name, says, hints, probe))
            return probe

        return add


_probes = 0


def function_from(source: str, name: str) -> Answer:
    """The function `name` of some Python text, as if it stood in a file of the reader's."""
    global _probes
    _probes += 1
    file = f"probe_{_probes}.py"
    text = textwrap.dedent(source)
    linecache.cache[file] = (len(text), None, io.StringIO(text).readlines(), file)
    namespace: dict[str, Any] = {"torch": importlib.import_module("torch")}
    exec(compile(text, file, "exec"), namespace)
    function: Answer = namespace[name]
    return function
