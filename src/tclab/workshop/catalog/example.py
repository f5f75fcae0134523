"""Define and register examples: functions or models with the arguments of one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: A function and its arguments on the CPU. Each call of `Example.make` returns a new pair.
FunctionCall = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Example:
    """A function to compile.

    `make` returns the function and its arguments. With `backward` the function's gradient is
    compiled, too. `options` are options of torch.compile.
    """

    name: str
    make: Callable[[], FunctionCall]
    backward: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]


#: Name → example, in order of definition.
EXAMPLES: dict[str, Example] = {}


def add(
    name: str, make: Callable[[], FunctionCall], *, backward: bool = False, **options: Any
) -> None:
    """Register a maker under ``family/name``."""
    EXAMPLES[name] = Example(name, make, backward, options)


def example(backward: bool = False, **options: Any) -> Callable[[Callable[[], FunctionCall]], Any]:
    """Register a function that makes an example, as ``module/function``."""

    def register(make: Callable[[], FunctionCall]) -> Callable[[], FunctionCall]:
        family = make.__module__.rpartition(".")[2]
        add(f"{family}/{make.__name__}", make, backward=backward, **options)
        return make

    return register
