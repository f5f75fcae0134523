"""Start workers that sleep as long as a recorded run took: hundreds of Dask's workers in one
process.

python -m benchmarks.sleeping SCHEDULER WORKERS
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from functools import partial

import dask

from tclab.site.remote import announcements
from tclab.site.remote.protocol import Answer

_ANSWER = b""


def has_tree(_digest: str, _key: str) -> bool:
    """Return True: no tree is needed."""
    return True


def run_job(data: bytes, _key: str) -> bytes:
    """Sleep for the job's time limit, and answer with the run that every job gets."""
    time.sleep(json.loads(data)["snippet"]["timeout"])
    return _ANSWER


async def serve(scheduler: str, number: int, answer: bytes) -> None:
    """Serve until the scheduler is gone."""
    global _ANSWER
    from distributed import Worker

    _ANSWER = Answer("run", run=answer).encode()
    every = []
    for n in range(number):
        offer = {**announcements.announce([], 1, f"sleeper-{n}"), "machine": f"m{n}"}
        offer["environments"] = [_environment()]
        every.append(
            Worker(
                scheduler, nthreads=1, name=offer["name"], resources={"slots": 1}, memory_limit=0,
                startup_information={"tclab": partial(_text, json.dumps(offer))},
                dashboard=False, host="127.0.0.1", death_timeout=20,
            )
        )  # fmt: skip
    for begin in range(0, number, 32):
        await asyncio.gather(*every[begin : begin + 32])
    print("ready", flush=True)
    await asyncio.gather(*(worker.finished() for worker in every))


def _text(text: str, _worker: object) -> str:
    return text


def _environment() -> announcements.EnvironmentData:
    made = dict.fromkeys(("torch", "torch_git", "python", "cpu", "system"), "")
    return {"python": "", "provenance": {**made, "torch": "2.13.0"}, "has": [], "problem": ""}


if __name__ == "__main__":
    dask.config.set({"distributed.logging.distributed": "critical"})
    module = importlib.import_module("benchmarks.sleeping")  # the module that the jobs name
    asyncio.run(module.serve(sys.argv[1], int(sys.argv[2]), sys.stdin.buffer.read()))
