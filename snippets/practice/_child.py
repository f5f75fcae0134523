"""A call in a process of its own, under variables such as TORCH_LOGS, and what PyTorch logged.

Started for each question, as `TORCH_LOGS=… python program.py` would be; forked, since an import
of PyTorch takes seconds. `_init_logs` is what that import calls to read the variables.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import torch._functorch.config as functorch
import torch._inductor.config as inductor
import torch._logging._internal as logging_of_torch
from torch.utils._config_module import _UNSET_SENTINEL

#: Before each record: what wrote it. It ends what the record before said.
_FORMAT = "\x1e%(name)s\x1f%(message)s"


def logged(
    logs: str, job: Callable[..., Any], *args: object, **variables: str
) -> tuple[Any, list[tuple[str, str]]]:
    """What `job` returns with TORCH_LOGS set to `logs`, and what was logged: (log, message).

    RuntimeError with what the process wrote, where it fails.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    asked = {"TORCH_LOGS": logs} if logs else {}  # empty, it would be an error of PyTorch's
    environment = asked | {"TORCH_LOGS_FORMAT": _FORMAT} | variables
    with tempfile.TemporaryFile() as stderr:
        process = context.Process(target=_run, args=(sender, stderr, environment, job, args))
        process.start()
        sender.close()
        try:
            result = receiver.recv()
        except EOFError:
            raise RuntimeError(f"the process failed:\n{_text(stderr)}") from None
        finally:
            process.join()
        return result, [_record(part) for part in _text(stderr).split("\x1e")[1:]]


def _text(stderr: Any) -> str:
    stderr.seek(0)
    return stderr.read().decode(errors="replace")


def _record(part: str) -> tuple[str, str]:
    name, _, message = part.partition("\x1f")
    return name.rpartition(".__")[2], message.rstrip("\n")


def _run(sender: Any, stderr: Any, variables: dict, job: Callable[..., Any], args: tuple) -> None:
    os.environ.update(variables)
    os.dup2(stderr.fileno(), 2)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    logging_of_torch.DEFAULT_FORMATTER = logging_of_torch._default_formatter()
    logging_of_torch.LOG_TRACE_HANDLER = None  # it was made of the variables of the import
    logging_of_torch._init_logs()
    sender.send(job(*args))


def caches_on(folder: str) -> None:
    """Graph caches as a plain program has them; where the site's snippets run, variables forbid."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    for config, name in ((inductor, "fx_graph_cache"), (functorch, "enable_autograd_cache")):
        config._config[name].env_value_force = _UNSET_SENTINEL
        setattr(config, name, True)
