"""List the functions and models that the benchmarks time, and with which the kernels for targets
are verified.

`functions/` have one or a few kernels, `models/` are whole networks with random weights. There are
two forms. An *example* (`example.Example`) is a function with its arguments at one size, registered
as ``family/name``; each module is a family. A *builder* takes a device and a size and returns a
*subject* (`subject.Subject`), which can be timed and also computes the exact result. Recorded rows
use the names as keys. All modules but this one import torch.

The catalogue is not in the wheel: measuring and verifying needs a clone.
"""

from __future__ import annotations

from types import ModuleType

from tclab.workshop.catalog.example import EXAMPLES, Example


def examples(corpus: str = "functions") -> dict[str, Example]:
    """Return the examples of a corpus by name, in the order of families and definitions.

    The corpora are ``functions``; ``models``, which need timm and transformers; and ``operators``,
    which is PyTorch's operator database and needs expecttest.
    """
    if corpus == "operators":
        from tclab.workshop.catalog import operators

        return operators.list_examples()
    families = [module.__name__.rpartition(".")[2] for module in CORPORA[corpus]()]
    return {name: each for name, each in EXAMPLES.items() if each.family in families}


def find(name: str, corpus: str = "functions") -> Example:
    """Return one example of a corpus. Raises KeyError for an unknown name."""
    if corpus == "operators":
        from tclab.workshop.catalog import operators

        return operators.find(name)
    return examples(corpus)[name]


def _functions() -> tuple[ModuleType, ...]:
    from tclab.workshop.catalog.functions import indexing, pointwise, products, reductions

    return indexing, pointwise, products, reductions


def _models() -> tuple[ModuleType, ...]:
    from tclab.workshop.catalog.models import further, text, training, vision, ways

    return text, training, vision, ways, further


#: Corpus → the function that imports its families; the operators are listed by PyTorch.
CORPORA = {"functions": _functions, "models": _models}
