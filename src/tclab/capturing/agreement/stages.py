"""Where a difference comes from: the first stage whose results differ, and what removes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tclab.capturing.agreement.operators import Operator
from tclab.model import DIFFERS, Agreement, Difference

#: Whether a compile with these options of torch.compile differs from eager.
Differs = Callable[[Mapping[str, Any]], bool]
#: The first operator whose result differs at a stage, which its backend names.
FirstOperator = Callable[[str], Operator | None]

#: Backends that stop after a stage, and the stage that comes with each.
STAGES = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "the decompositions or the partitioner",
    "inductor": "Inductor",
}
#: Ways round a difference that Inductor makes, in words, and the options of torch.compile for each.
WAYS: dict[str, dict[str, Any]] = {
    "options={'max_fusion_size': 1}, which fuses nothing": {"options": {"max_fusion_size": 1}},
    "options={'pattern_matcher': False}": {"options": {"pattern_matcher": False}},
    "options={'inplace_buffers': False}": {"options": {"inplace_buffers": False}},
    "dynamic=True": {"dynamic": True},
    "backend='aot_eager_decomp_partition', without Inductor": {
        "backend": "aot_eager_decomp_partition"
    },
    "backend='aot_eager', without decompositions and Inductor": {"backend": "aot_eager"},
}


def explained(differences: list[Difference], differs: Differs, first: FirstOperator) -> Agreement:
    """The verdict on a difference: the stage and the operator it comes from, and the first way
    round that was tried and removes it.
    """
    backend = next((each for each in STAGES if differs({"backend": each})), "inductor")
    way = ""
    if backend != "eager":
        way = next((words for words, changed in WAYS.items() if not differs(changed)), "")
    operator = first(backend)
    return Agreement(
        DIFFERS,
        differences=tuple(differences),
        stage=STAGES[backend],
        operator=operator.name if operator else "",
        line=operator.line if operator else None,
        way=way,
    )
