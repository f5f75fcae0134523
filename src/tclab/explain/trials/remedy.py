"""Define a trial's remedy, its result, and the fixes that all trials found; these values travel
between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclab.compare.fixes import Fix
from tclab.model import Agreement, Breaks, OwnCompiles

#: The message that the process for trials sends after it has imported PyTorch.
READY = "ready"


@dataclass(frozen=True)
class Remedy:
    """One change to try.

    `description` describes it for the reader. `options` are keywords of torch.compile, and
    `settings` are values for names in torch._dynamo.config. `backend` is the backend of
    torch.compile. `lines` maps line numbers to replacements in the reader's file. `arguments`
    changes the arguments of each call: ``detach``, ``grad``, ``two 1`` for size 2 in dimension 1,
    ``mark x 0``, ``same bag``, or ``numbers`` for Python numbers in place of tensors without
    dimensions.

    If `called_before`, the calls are first made once without a compile. If `rebound`, each
    `forward` that is bound to another module is bound to its own module. If not `compiled`, nothing
    is compiled. `own` are keywords for the reader's own calls of torch.compile. `in_place` makes
    the reader's calls compile the module that they get in place, by Module.compile (``module``) or
    by its forward (``forward``). If `whole`, the reader's calls of torch.compile do nothing, and
    the whole function is compiled. If `compared`, the compiled results are compared with eager's
    results of the unchanged file. If `halved`, the operator on which Inductor raises is searched
    for. If `blocks`, each module that is passed to torch.utils.checkpoint is compiled, and the
    whole function is not.
    A remedy that `disables` turns the compiler off for one function.
    """

    description: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: str = ""
    lines: Mapping[int, str] = field(default_factory=dict)
    called_before: bool = False
    rebound: bool = False
    backend: str = "eager"
    compiled: bool = True
    own: Mapping[str, Any] = field(default_factory=dict)
    in_place: str = ""
    whole: bool = False
    compared: bool = False
    halved: bool = False
    disables: bool = False
    blocks: bool = False


@dataclass(frozen=True)
class TrialResult:
    """The outcome of a trial. `error` is the error that it raised, or ''. `compiles` maps a
    function, ``file:line``, to the number of its successful compiles. `limits` are the functions at
    the recompile limit. `agrees` says that the results are equal to eager's. `operator` is the
    operator on which Inductor raises, at `place`. `held` is the most checkpointed regions that a
    compiled backward holds at once. `numbers` are the arguments that the trial made Python numbers.
    """

    error: str = ""
    place: str = ""  # the line of the error or the operator
    breaks: int = 0
    compiles: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    agrees: bool = False
    operator: str = ""
    held: int = 0
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class TriedFixes:
    """The fixes that trials found: the breaks with tried hints, the fix for the recompiles of each
    function (``file:line``), the outcome of the file's own compiles, the agreement with the change
    that makes the results equal, and the change with which a backward holds fewer checkpointed
    regions.
    """

    breaks: Breaks = field(default_factory=Breaks)
    recompiles: Mapping[str, Fix] = field(default_factory=dict)
    own: OwnCompiles | None = None
    agreement: Agreement = field(default_factory=Agreement)
    checkpoint_fix: str = ""
