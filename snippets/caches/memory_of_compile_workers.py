"""What compile workers take: processes and memory of a pool, when busy and when quiet.

A program has a pool of its own, and so has each rank of several. Each worker here compiles one
Triton kernel for an H200, which needs no GPU. Memory is proportional (PSS, from Linux): what
processes share is divided among them.
"""
# tclab: needs=triton timeout=240

import os
import time
from functools import partial
from pathlib import Path

from _a_kernel import compiled
from _process import in_a_process
from torch._inductor import config
from torch._inductor.compile_worker.subproc_pool import SubprocPool

import tclab

MIB = 2**20


def below(root):
    """The process ids below `root`, itself included."""
    try:
        children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
    except OSError:  # it has ended
        return []
    return [root, *(number for child in children for number in below(int(child)))]


def memory(pools):
    """Processes of these pools, and their MiB."""
    ids = [number for pool in pools for number in below(pool.process.pid)]
    texts = [Path(f"/proc/{number}/smaps_rollup").read_text() for number in ids]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return len(ids), sum(int(line.split()[1]) for line in lines) / 1024


def measured(ranks, workers):
    """Of the pools of so many ranks: when all workers have compiled, when quiet, used again."""
    pools = [SubprocPool(workers) for _ in range(ranks)]
    try:
        jobs = [pool.submit(partial(compiled, n)) for n in range(2, 2 + workers) for pool in pools]
        used = {job.result() for job in jobs}
        busy = memory(pools)
        for pool in pools:
            pool.quiesce()
        until = time.monotonic() + 30
        while any(below(p.process.pid)[1:] for p in pools) and time.monotonic() < until:
            time.sleep(0.1)
        quiet = memory(pools)
        again = pools[0].submit(os.getpid).result()
    finally:
        for pool in pools:
            pool.shutdown()
    return busy, quiet, again not in used


def workers_of_a_rank(of):
    os.environ["LOCAL_WORLD_SIZE"] = str(of)
    return config.decide_compile_threads()


found = {(ranks, workers): measured(ranks, workers) for ranks, workers in ((1, 1), (1, 4), (2, 1))}
tclab.show(
    tclab.Table(
        title="Pools of compile workers",
        name="pools",
        columns=("ranks", "workers of each", "processes", "memory", "when quiet", "memory"),
        units=("", "", "", "MiB", "", "MiB"),
        formats=("d", "d", "d", ".0f", "d", ".0f"),
        rows=[(*key, *busy, *quiet) for key, (busy, quiet, _) in found.items()],
    )
)
one, many, ranks = (busy[1] for busy, _, _ in found.values())
each = {"another worker": (many - one) / 3, "another rank, of one worker": ranks - one}
tclab.show(
    tclab.Table(
        title="What one more costs",
        name="more",
        columns=("one more", "memory"),
        units=("", "MiB"),
        formats=("", ".0f"),
        rows=list(each.items()),
    )
)
by_ranks = [in_a_process(workers_of_a_rank, "unused", count) for count in (1, 8)]

# claim: a-process-beside-the-workers
assert all(busy[0] == r * (1 + w) for (r, w), (busy, _, _) in found.items())
# claim: a-rank-costs-more-than-a-worker
assert each["another rank, of one worker"] > 2 * each["another worker"] > 0
# claim: quiet-they-end
assert all(quiet[0] == r and quiet[1] < busy[1] for (r, _), (busy, quiet, _) in found.items())
# claim: and-start-again
assert all(anew for _, _, anew in found.values())
# claim: quiet-after-a-minute
assert config.quiesce_async_compile_pool and config.quiesce_async_compile_time == 60
# claim: as-many-for-each-of-eight-ranks
assert by_ranks[0] == by_ranks[1]
