"""Import torch and other packages in the process that workers are forked from.

So no row contains the time of these imports. This process neither compiles nor uses the device,
because the fork of a process that uses CUDA cannot use CUDA.
"""

from __future__ import annotations

import importlib
import os

from tclab.workshop.bench.measured import private
from tclab.workshop.bench.task import IMPORTS

for _name in filter(None, os.environ.get(IMPORTS, "").split(",")):
    try:
        importlib.import_module(_name)
    except Exception:
        continue  # a worker that needs it reports the error in its row

private.import_compiler_modules()
