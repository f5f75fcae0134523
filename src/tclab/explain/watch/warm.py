"""Import once the modules that a compile needs, for the process that attempts are forked from.

An attempt then takes only its own compile. The cost, which the docs mention: what PyTorch reads of
the environment at its import is read before the user's file runs.
"""

from __future__ import annotations

from contextlib import suppress

from tclab.explain import preload
from tclab.system import threads

with suppress(Exception):  # if the import fails, the attempt reports it
    preload.import_compiler(cpu=True)
    threads.recreate_thread_pool_in_forks()
