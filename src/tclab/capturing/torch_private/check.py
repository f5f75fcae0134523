"""One check over the private names of PyTorch and Triton that a capture relies on.

Modules of this room hold a table ``NAMES`` of those they use, with the versions each was seen in.
What a new PyTorch moved is named here, before anything is captured. Those of the warm process
(`warming`) are looked at where that is warmed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import torch

from tclab import machine
from tclab.capturing.torch_private import (
    attention_choice,
    autotuners,
    compiler,
    cpp_commands,
    decomposing,
    device_guards,
    launches,
    origins,
    padding,
    partitions,
    stepping,
    targets,
    vector_isa,
)
from tclab.capturing.torch_private.private import Private, gone
from tclab.errors import UnsupportedTorch


def names() -> tuple[Private, ...]:
    """What every capture relies on here; only where there is a GPU, also what launches take."""
    tables: list[Iterable[Private]] = [
        compiler.NAMES,
        origins.NAMES,
        partitions.NAMES,
        stepping.NAMES,
        decomposing.NAMES,
        cpp_commands.NAMES,
        vector_isa.NAMES,
    ]
    if torch.cuda.is_available():  # importing what they name takes Triton
        tables += [launches.NAMES, autotuners.NAMES, padding.NAMES]
    return tuple(name for table in tables for name in table)


def check() -> list[str]:
    """What of PyTorch is not as this version of tclab knows it; empty if all is well."""
    problem = machine.unknown_torch(torch.__version__)
    if problem:
        return [problem]
    return gone(names()) + [f"log artifact {n} is gone" for n in compiler.LOGS if not _has_log(n)]


def check_targets() -> list[str]:
    """The same for what a target relies on besides."""
    cudnn = targets.WITH_CUDNN if torch.backends.cudnn.is_available() else ()
    problems = gone((*targets.NAMES, *cudnn, *autotuners.NAMES))
    return problems + device_guards.check() + attention_choice.check()


def require() -> None:
    """Raise UnsupportedTorch, naming everything that moved, unless `check` finds nothing."""
    _raise("tclab.capture", check(), "use a supported torch, or adapt")


def require_targets() -> None:
    """The same for a target."""
    step = "use a supported torch with its Triton, or adapt"
    _raise("tclab.capture(target=…)", check_targets(), step)


def _raise(place: str, problems: list[str], step: str) -> None:
    if problems:
        raise UnsupportedTorch(place, "; ".join(problems), f"{step} those files of src/tclab")


def _has_log(name: str) -> bool:
    from torch._logging._internal import log_registry

    importlib.import_module(compiler.LOGS[name].rpartition(".")[0])
    return name in log_registry.artifact_names
