"""One rank of two meets another size: who compiles, who waits, and what collectives change.

Two processes on this CPU with gloo, Inductor, and a sum over both ranks in the graph. Rank 1's
second batch has another size. *Guards ask all ranks* is
`torch.compiler.set_enable_guard_collectives`. Each rank writes a trace into the one folder.
"""
# tclab: timeout=120

import os
import re
import tempfile
import time

import torch
import torch._logging._internal as logging_of_torch
import torch.distributed as dist
from _two import in_two
from torch._dynamo.utils import counters

import tclab

SIZES = ((8, 8, 8), (8, 9, 10))  # rows of rank 0, of rank 1


def step(x):
    total = x.T @ x  # as large for any number of rows
    dist.all_reduce(total)
    return total


def traced_to(folder):
    """Begin a trace there, as TORCH_TRACE does when PyTorch is imported."""
    os.environ["TORCH_TRACE"] = folder
    logging_of_torch.LOG_TRACE_HANDLER = None
    logging_of_torch._init_logs()


def job(rank, folder, guards):
    """Graphs made by each call, their results, and the clock before and after the second call."""
    traced_to(folder)
    torch.compiler.set_enable_guard_collectives(guards)
    fn, made, results, clock = torch.compile(step), [], [], []
    for size in SIZES[rank]:
        counters.clear()
        dist.barrier()
        start = time.monotonic()  # one clock for all processes of a machine
        results.append(fn(torch.ones(size, 4))[0, 0].item())
        clock.append((start, time.monotonic()))
        made.append(counters["stats"]["unique_graphs"])
    return made, results, clock[1]


def with_compiler_collectives(rank):
    torch._dynamo.config.enable_compiler_collectives = True
    try:
        torch.compile(step)(torch.ones(8 + rank, 4))
    except Exception as error:
        return str(error)


with tempfile.TemporaryDirectory() as folder:
    alone = in_two(job, folder, False)
    traces = sorted(os.listdir(folder))
    starts = [open(f"{folder}/{name}").read().count('"dynamo_start"') for name in traces]
with tempfile.TemporaryDirectory() as folder:
    asked = in_two(job, folder, True)
refused = in_two(with_compiler_collectives)
rows = [
    (way, f"rank {rank}", *made, *results)
    for way, ranks in (("by default", alone), ("guards ask all ranks", asked))
    for rank, (made, results, _) in enumerate(ranks)
]
columns = ("way", "of", "graphs, call 1", "call 2", "call 3", "result 1", "result 2", "result 3")
tclab.show(tclab.Table("Three calls, rank 1's with 8, 9 and 10 rows", "calls", columns, rows))
(first, _, (_, returned)), (second, _, (began, ended)) = alone

# claim: one-rank-compiles-alone
assert first == [1, 0, 0] and second == [1, 1, 0]
# claim: the-other-waits
assert first[1] == 0 and returned - began > 0.5 * (ended - began)
# claim: all-get-the-right-sum
assert all(ranks[r][1] == [16.0, 17.0, 18.0] for ranks in (alone, asked) for r in (0, 1))
# claim: with-guard-collectives-both-compile
assert asked[0][0] == asked[1][0] == [1, 1, 0]
# claim: a-trace-for-each-rank
assert [re.search(r"rank_(\d)_", name)[1] for name in traces] == ["0", "1"]
# claim: the-traces-tell-which-rank
assert starts == [1, 2]
# claim: compiler-collectives-fail-on-gloo
assert all(refused)
