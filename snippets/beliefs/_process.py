"""A process with cache folders of its own, and the caches a plain program has."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import torch._functorch.config as functorch
import torch._inductor.config as inductor
from torch.utils._config_module import _UNSET_SENTINEL


def in_a_process(job: Callable[..., Any], folder: str, *args: object) -> Any:
    """What `job` returns where the caches lie in `folder`; EOFError if it fails."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_send, args=(sender, folder, job, args))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()


def _send(sender: Any, folder: str, job: Callable[..., Any], args: tuple) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    # The variables of a run for this site forbid both caches; a plain program has them on.
    for config, name in ((inductor, "fx_graph_cache"), (functorch, "enable_autograd_cache")):
        config._config[name].env_value_force = _UNSET_SENTINEL
        setattr(config, name, True)
    inductor.cpp_cache_precompile_headers = False  # faster where there is one file only
    sender.send(job(*args))
