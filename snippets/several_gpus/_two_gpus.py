"""Two processes with a GPU each, that talk through NCCL, and the time of a step."""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def in_two(job: Callable[..., Any], *args: object) -> list[Any]:
    """What `job(rank, *args)` returns on rank 0 and on rank 1. FileNotFoundError if one fails.

    The caller has not used CUDA yet: a fork of a process that did cannot.
    """
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=_run, args=(rank, folder, job, args)) for rank in range(2)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(200)
            process.kill()
        return [torch.load(f"{folder}/{rank}.pt", map_location="cpu") for rank in range(2)]


def _run(rank: int, folder: str, job: Callable[..., Any], args: tuple) -> None:
    torch.cuda.set_device(rank)
    meet = f"file://{folder}/meet"
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", init_method=meet, rank=rank, world_size=2, device_id=device)
    torch.save(job(rank, *args), f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def milliseconds(step: Callable[[], Any], rounds: int = 11, calls: int = 10) -> float:
    """Median over rounds of the time of one step; both processes take part."""
    for _ in range(8):
        step()
    return statistics.median(_stretch(step, calls) for _ in range(rounds))


def _stretch(step: Callable[[], Any], calls: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls
