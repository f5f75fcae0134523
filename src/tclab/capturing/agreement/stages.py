"""Find the origin of a difference: the first stage whose results differ, and a change that removes
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tclab.capturing.agreement.operators import Operator
from tclab.capturing.torch_private import compiler
from tclab.model import DIFFERS, Agreement, Difference

#: A function that returns whether a compile with these options of torch.compile differs from
#: eager.
Differs = Callable[[Mapping[str, Any]], bool]
#: A function that returns the first operator whose result differs at the stage of this backend.
FirstOperator = Callable[[str], Operator | None]

#: Backend → the stage that it adds; each one stops after its stage.
STAGES = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "the decompositions or the partitioner",
    "inductor": "Inductor",
}
_WITHOUT_FREEZING = (
    "without torch._inductor.config.freezing, which writes the weights of the first call into the "
    "code"
)
#: A workaround, in words, for a difference that Inductor causes → the workaround's options of
#: torch.compile.
WORKAROUNDS: dict[str, dict[str, Any]] = {
    "options={'max_fusion_size': 1}, which fuses nothing": {"options": {"max_fusion_size": 1}},
    "options={'pattern_matcher': False}": {"options": {"pattern_matcher": False}},
    "options={'inplace_buffers': False}": {"options": {"inplace_buffers": False}},
    "dynamic=True": {"dynamic": True},
    "backend='aot_eager_decomp_partition', without Inductor": {
        "backend": "aot_eager_decomp_partition"
    },
    "backend='aot_eager', without decompositions and Inductor": {"backend": "aot_eager"},
}


_OUTSIDE_AUTOCAST = (
    'torch._functorch.config.backward_pass_autocast = "off", as a compiled backward runs under the '
    "autocast that was on where the compiled code was called"
)


def _find_workaround(backend: str, differs: Differs) -> str:
    """Return the first workaround, in words, with which the results no longer differ; '' if there
    is none. `backend` is the first one with the difference.
    """
    if backend == "eager":  # the workarounds change later stages only
        return ""
    if backend == "aot_eager":
        with compiler.backward_outside_autocast():
            if not differs({}):
                return _OUTSIDE_AUTOCAST
    return next((words for words, changed in _list_workarounds() if not differs(changed)), "")


def _list_workarounds() -> Iterator[tuple[str, dict[str, Any]]]:
    if compiler.freezes_weights():
        yield _WITHOUT_FREEZING, {"options": {"freezing": False}}
    yield from WORKAROUNDS.items()


def explain_difference(
    differences: list[Difference], differs: Differs, first: FirstOperator
) -> Agreement:
    """Return the verdict on a difference: its stage, its operator, and the first workaround that
    removes it.
    """
    backend = next((each for each in STAGES if differs({"backend": each})), "inductor")
    operator = first(backend)
    return Agreement(
        DIFFERS,
        differences=tuple(differences),
        stage=STAGES[backend],
        operator=operator.name if operator else "",
        line=operator.line if operator else None,
        way=_find_workaround(backend, differs),
    )
