"""A process of its own over a cache folder, so that what is found was found on disk."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch._functorch.config as functorch
import torch._inductor.config as inductor
from torch.utils._config_module import _UNSET_SENTINEL


def in_a_process(job: Callable[..., Any], folder: str | Path, *args: object) -> Any:
    """What `job` returns in a new process whose caches lie in `folder`. EOFError if it fails."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, folder, job, args))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    return result


def _run(sender: Any, folder: str | Path, job: Callable[..., Any], args: tuple) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    caches_on()
    sender.send(job(*args))


def caches_on() -> None:
    """As a plain program has them. Where snippets are run for this site, variables forbid them."""
    for config, name in ((inductor, "fx_graph_cache"), (functorch, "enable_autograd_cache")):
        config._config[name].env_value_force = _UNSET_SENTINEL
        setattr(config, name, True)
    inductor.cpp_cache_precompile_headers = False  # faster where there is one file only
