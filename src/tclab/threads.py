"""PyTorch's threads in a process that was forked."""

from __future__ import annotations

import os
import sys


def settle_in_forks() -> None:
    """Settle the threads of each process that this one forks from now on."""
    os.register_at_fork(after_in_child=settle)


def settle() -> None:
    """Ask PyTorch, where it was imported, for its threads; for a new process that has one yet.

    After a fork PyTorch makes its pool anew for whoever asks first. Two threads of the autograd
    engine that ask at once can both find it half made, and end the process.
    """
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):  # else it is still being imported
        torch.set_num_threads(torch.get_num_threads())
