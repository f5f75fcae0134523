"""Define a trial's remedy, its result, and the fixes that all trials found; these values travel
between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclab.model import Agreement, Breaks, OwnCompiles

#: The message of the trials' process after it has imported PyTorch.
READY = "ready"


@dataclass(frozen=True)
class Remedy:
    """One change to try.

    `description` is for the reader. `options` are keywords of torch.compile; `settings` are names
    in torch._dynamo.config. `arguments` changes the arguments of each call: ``detach``, ``grad``,
    ``two 1`` for size 2 in dimension 1, ``mark x 0`` or ``same bag``. `lines` replaces lines of the
    reader's file. With `called_before` the calls are made once without a compile first; with
    `rebound` each `forward` that is bound to another module is bound to its own. `backend` is
    torch.compile's; without `compiled` nothing is compiled. `own` are keywords for the reader's own
    calls of torch.compile; with `in_place`, ``module`` or ``forward``, the reader's calls return
    the module that they are given, compiled in place by Module.compile or by its forward. With
    `whole` the reader's calls do nothing, and the whole is compiled. With `compared` the compiled
    results are compared with those that eager has of the file as it is. With `halved` the operator
    on which Inductor raises is looked for. With `blocks` each module that torch.utils.checkpoint is
    given is compiled, and not the whole.
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
    blocks: bool = False


@dataclass(frozen=True)
class TrialResult:
    """The outcome of a trial. `error` is what it raised, else ''; `compiles` counts the successful
    ones of each function, ``file:line``; `limits` are the functions at the recompile limit;
    `agrees` says that the results are eager's. `operator` raises in Inductor, at `place`. `held` is
    the most checkpointed regions that a compiled backward holds at once.
    """

    error: str = ""
    place: str = ""  # the line of the error or the operator
    breaks: int = 0
    compiles: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    agrees: bool = False
    operator: str = ""
    held: int = 0


@dataclass(frozen=True)
class TriedFixes:
    """The breaks with tried hints, the fix for the recompiles of each function (``file:line``), the
    file's own compiles, the agreement with what makes the results equal, and what makes a backward
    hold fewer checkpointed regions.
    """

    breaks: Breaks = field(default_factory=Breaks)
    functions: Mapping[str, str] = field(default_factory=dict)
    own: OwnCompiles | None = None
    agreement: Agreement = field(default_factory=Agreement)
    checkpoint_fix: str = ""
