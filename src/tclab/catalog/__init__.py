"""The catalogue: the functions and models that benchmarks time and targets are verified on.

`functions/` are of one or a few kernels, `models/` are whole networks with random weights. Each is
written as one of two things. An *example* (`example.Example`) is a function with its arguments at
one size, registered as ``family/name``; a module is a family. A *builder* makes a *subject*
(`subject.Subject`) of a device and a size, which also knows the exact result, so that it can be
timed. Names are keys of recorded rows. All of it imports torch, this module alone does not.

The catalogue is no part of the wheel: who measures or verifies has a clone.
"""

from __future__ import annotations

from types import ModuleType

from tclab.catalog.example import EXAMPLES, Example


def examples(corpus: str = "functions") -> dict[str, Example]:
    """All examples of a corpus by name, in order of family and definition: ``functions``, or
    ``models``, which need timm and transformers once they are made.
    """
    families = [module.__name__.rpartition(".")[2] for module in CORPORA[corpus]()]
    return {name: each for name, each in EXAMPLES.items() if each.family in families}


def _functions() -> tuple[ModuleType, ...]:
    from tclab.catalog.functions import indexing, pointwise, products, reductions

    return indexing, pointwise, products, reductions


def _models() -> tuple[ModuleType, ...]:
    from tclab.catalog.models import further, text, training, vision, ways

    return text, training, vision, ways, further


#: The corpora by name, and what loads their families.
CORPORA = {"functions": _functions, "models": _models}
