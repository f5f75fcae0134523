"""Two processes that talk through NCCL, a GPU each; through gloo where there are not two GPUs."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

#: Asked of the driver's library without starting CUDA: a process that did cannot be forked.
DEVICE = "cuda" if torch.cuda.device_count() >= 2 else "cpu"


def in_two(job: Callable[..., Any], seconds: float = 200) -> list[Any]:
    """What `job(rank)` returns on rank 0 and on rank 1. FileNotFoundError if one fails."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=_run, args=(rank, folder, job)) for rank in range(2)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(seconds)
            process.kill()
        return [torch.load(f"{folder}/{rank}.pt", map_location="cpu") for rank in range(2)]


def _run(rank: int, folder: str, job: Callable[..., Any]) -> None:
    meet = {"init_method": f"file://{folder}/meet", "rank": rank, "world_size": 2}
    if DEVICE == "cuda":
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank), **meet)
    else:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group("gloo", **meet)
    torch.save(job(rank), f"{folder}/{rank}.pt")
    dist.barrier()  # neither leaves while the other still talks to it
    dist.destroy_process_group()


def names() -> str:
    """What the two processes compute on."""
    if DEVICE == "cpu":
        return "two processes on a CPU"
    return " and ".join(torch.cuda.get_device_name(i) for i in range(2))


def milliseconds(step: Callable[[], Any]) -> float:
    """Median over rounds of the time of one step, by the host's clock; both processes take part."""
    rounds, calls = (9, 5) if DEVICE == "cuda" else (1, 1)
    for _ in range(calls):
        step()
    return 1e3 * statistics.median(_stretch(step, calls) for _ in range(rounds))


def _stretch(step: Callable[[], Any], calls: int) -> float:
    dist.barrier()
    _wait()
    start = time.perf_counter()
    for _ in range(calls):
        step()
    _wait()
    return (time.perf_counter() - start) / calls


def _wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
