"""An example: a function or model with the arguments of one call, registered by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: What is called and its arguments, on the CPU, made anew each time.
FunctionCall = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Example:
    """`make` gives the function and its arguments. `backward`: its gradient is compiled, too;
    `options` go to torch.compile.
    """

    name: str
    make: Callable[[], FunctionCall]
    backward: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The name's first part."""
        return self.name.partition("/")[0]


#: By name, in order of definition.
EXAMPLES: dict[str, Example] = {}


def add(
    name: str, make: Callable[[], FunctionCall], *, backward: bool = False, **options: Any
) -> None:
    """Register a maker under ``family/name``."""
    EXAMPLES[name] = Example(name, make, backward, options)


def example(backward: bool = False, **options: Any) -> Callable[[Callable[[], FunctionCall]], Any]:
    """Register a maker as ``family/its_name``; its module is the family."""

    def register(make: Callable[[], FunctionCall]) -> Callable[[], FunctionCall]:
        family = make.__module__.rpartition(".")[2]
        add(f"{family}/{make.__name__}", make, backward=backward, **options)
        return make

    return register
