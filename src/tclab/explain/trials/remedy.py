"""What a trial changes, as data that goes to its process; what it saw; and what they found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclab.model import Breaks, OwnCompiles

#: What the process of the trials says once it has PyTorch.
READY = "ready"


@dataclass(frozen=True)
class Remedy:
    """One thing to do, and how a trial does it.

    `said` tells the reader. `options` are keywords of torch.compile; `settings` are names of
    torch._dynamo.config. `arguments` changes those of each call: ``detach``, ``two rows``, ``mark x
    0`` or ``same bag``. `lines` replaces lines of the reader's file. With `called_before` the calls
    are made once without a compile; with `rebound` each `forward` that is bound to another module
    is bound to its own. `backend` is torch.compile's; without `compiled` nothing is compiled.
    """

    said: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: str = ""
    lines: Mapping[int, str] = field(default_factory=dict)
    called_before: bool = False
    rebound: bool = False
    backend: str = "eager"
    compiled: bool = True


@dataclass(frozen=True)
class Seen:
    """What a trial saw. `error` is what it raised, else ''; `compiles` counts those of each
    function, ``file:line``, that succeeded; `limits` are the functions at the recompile limit.
    """

    error: str = ""
    place: str = ""  # of the error
    breaks: int = 0
    compiles: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tried:
    """The breaks with hints that were tried, what ends the recompiles of each function
    (``file:line``), and what the file compiles itself.
    """

    breaks: Breaks = field(default_factory=Breaks)
    functions: Mapping[str, str] = field(default_factory=dict)
    own: OwnCompiles | None = None
