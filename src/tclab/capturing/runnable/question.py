"""Define what is asked of the process that compiles graphs again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

#: What `Question.stages` may ask for: the stages down to the kernels' source, or to instructions.
KERNELS, MACHINE = "kernels", "machine"


@dataclass(frozen=True)
class Question:
    """A graph to compile again.

    `runnable` and `graph` are the texts of the records, and `target` names a GPU, or is '' for this
    CPU. `symbols` maps an input that is a size to its expression, such as ``8*s33``, and `ranges`
    a symbol to its range, such as ``[2, int_oo]``. `static` are the positions of the inputs that
    stay where they are, and `donated` those of saved values that the backward may overwrite.
    `visible` is the number of results that the function itself returns, whose strides are kept;
    None for all of them. `threads` is the number of threads for which C++ is written. `chosen` is
    the job's output code if the job timed candidates on its GPU: it has those that were chosen.
    `tf32` says whether products of float32 may be rounded to TF32.
    `stages` is '' if only the code is asked for.
    """

    runnable: str
    graph: str = ""
    target: str = ""
    is_backward: bool = False
    is_inference: bool = False
    static: tuple[int, ...] = ()
    donated: tuple[int, ...] = ()
    visible: int | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    chosen: str = ""
    tf32: bool = False
    stages: str = ""

    def to_json(self) -> str:
        """Return the question as one line of JSON, which `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Question:
        """Return the question that `to_json` wrote."""
        fields = json.loads(text)
        lists = {name: tuple(fields[name]) for name in ("static", "donated")}
        return cls(**{**fields, **lists})
