"""Two processes on this CPU that talk through gloo."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def in_two(job: Callable[..., Any], *args: object) -> list[Any]:
    """What `job(rank, *args)` returns on rank 0 and on rank 1. FileNotFoundError if one fails."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            context.Process(target=_run, args=(rank, folder, job, args), daemon=True)
            for rank in range(2)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(60)
        return [torch.load(f"{folder}/{rank}.pt", weights_only=False) for rank in range(2)]


def _run(rank: int, folder: str, job: Callable[..., Any], args: tuple) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.save(job(rank, *args), f"{folder}/{rank}.pt")
    dist.barrier()  # neither leaves while the other still talks to it
    dist.destroy_process_group()
