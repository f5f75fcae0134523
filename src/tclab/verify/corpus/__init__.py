"""Functions of every kind Inductor meets, to compare a target's kernels with the GPU's own.

A module a family. Each example is made anew: `make()` gives a function or module and its
arguments, on the CPU. This package imports torch; only `tclab.capturing` and tests use it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Example:
    """One function with its arguments. `backward`: its gradient is compiled, too; `options` go
    to torch.compile; `calls` > 1 repeats the call with sizes changed by the maker.
    """

    name: str
    family: str
    make: Callable[[], Made]
    backward: bool = False
    options: dict[str, Any] = field(default_factory=dict)


_EXAMPLES: dict[str, Example] = {}

#: The corpora by name: functions, or whole models, which need timm and transformers.
CORPORA = {"functions": __name__, "models": f"{__name__}.models"}


def add(name: str, make: Callable[[], Made], *, backward: bool = False, **options: Any) -> None:
    """Register a maker under ``family/name``."""
    _EXAMPLES[name] = Example(name, name.partition("/")[0], make, backward, options)


def example(backward: bool = False, **options: Any) -> Callable[[Callable[[], Made]], Any]:
    """Register a maker; the example is called ``family/function_name``."""

    def register(make: Callable[[], Made]) -> Callable[[], Made]:
        family = make.__module__.rpartition(".")[2]
        add(f"{family}/{make.__name__}", make, backward=backward, **options)
        return make

    return register


def examples(corpus: str = "functions") -> dict[str, Example]:
    """All examples of a corpus by name, in order of family and definition."""
    package = importlib.import_module(CORPORA[corpus])
    families = [m.name for m in pkgutil.iter_modules(package.__path__) if not m.ispkg]
    for family in families:
        importlib.import_module(f"{package.__name__}.{family}")
    return {name: each for name, each in _EXAMPLES.items() if each.family in families}
