"""Check that PyTorch and Triton still have the private names that a capture uses.

Each module of this package lists the names it uses in a table ``NAMES``, with the versions that
have them. The check runs before a capture and reports every name that a new PyTorch lacks. The
process that snippets are forked from checks its own table (`warming`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import torch

from tclab.capturing.torch_private import (
    attention_choice,
    autotuners,
    caching,
    checkpoints,
    compiler,
    cpp_commands,
    decomposing,
    device_guards,
    graph_runs,
    held,
    launches,
    origins,
    padding,
    partitions,
    precision,
    replaying,
    runnables,
    stepping,
    switches,
    targets,
    vector_isa,
)
from tclab.capturing.torch_private.private import Private, describe_missing
from tclab.errors import UnsupportedTorch
from tclab.system import machine


def required_names() -> tuple[Private, ...]:
    """Return the private names that every capture uses, and on a machine with a GPU those that note
    launches.
    """
    tables: list[Iterable[Private]] = [
        caching.NAMES,
        checkpoints.NAMES,
        compiler.NAMES,
        graph_runs.NAMES,
        held.NAMES,
        origins.NAMES,
        partitions.NAMES,
        precision.NAMES,
        replaying.NAMES,
        stepping.NAMES,
        switches.NAMES,
        decomposing.NAMES,
        cpp_commands.NAMES,
        vector_isa.NAMES,
    ]
    if torch.cuda.is_available():  # importing these modules needs Triton
        tables += [launches.NAMES, autotuners.NAMES, padding.NAMES]
    return tuple(name for table in tables for name in table)


def check() -> list[str]:
    """Return a sentence for each name that tclab needs and this PyTorch lacks."""
    problem = machine.unsupported_reason(torch.__version__)
    if problem:
        return [problem]
    return describe_missing(required_names()) + [
        f"log artifact {n} is gone" for n in compiler.LOGS if not _has_log(n)
    ]


def check_targets() -> list[str]:
    """Return a sentence for each missing name that only captures for a target use."""
    cudnn = targets.WITH_CUDNN if torch.backends.cudnn.is_available() else ()
    problems = describe_missing((*targets.NAMES, *runnables.NAMES, *cudnn, *autotuners.NAMES))
    return problems + device_guards.check() + attention_choice.check()


def require() -> None:
    """Raise UnsupportedTorch with the sentences of `check`, if there are any."""
    _raise_if_any("tclab.capture", check(), "use a supported torch, or adapt")


def require_targets() -> None:
    """Raise UnsupportedTorch with the sentences of `check_targets`, if there are any."""
    step = "use a supported torch with its Triton, or adapt"
    _raise_if_any("tclab.capture(target=…)", check_targets(), step)


def _raise_if_any(place: str, problems: list[str], step: str) -> None:
    if problems:
        raise UnsupportedTorch(place, "; ".join(problems), f"{step} those files of src/tclab")


def _has_log(name: str) -> bool:
    from torch._logging._internal import log_registry

    importlib.import_module(compiler.LOGS[name].rpartition(".")[0])
    return name in log_registry.artifact_names
