"""Import once the modules that a compile needs, for the process that attempts are forked from.

An attempt then takes only the time of its own compile. The disadvantage, which the docs mention, is
that PyTorch reads environment variables at its import, before the user's file runs.
"""

from __future__ import annotations

from contextlib import suppress

from tclab.explain import preload
from tclab.system import threads

with suppress(Exception):  # if the import fails, the attempt reports it
    preload.import_compiler(cpu=True)
    threads.recreate_thread_pool_in_forks()
