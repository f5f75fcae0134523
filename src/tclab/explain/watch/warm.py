"""Imported by the process that attempts are forked from: what a compile needs, read once.

An attempt then takes its own compile only. The price is said in the docs: what PyTorch reads of
the environment when it is imported is read before the user's file.
"""

from __future__ import annotations

from contextlib import suppress

from tclab.explain import preload
from tclab.system import threads

with suppress(Exception):  # where PyTorch cannot be imported the attempt says so
    preload.import_compiler(cpu=True)
    threads.recreate_thread_pool_in_forks()
