"""What the process that workers are forked from imports, so that no row pays for it.

Nothing is compiled here and the device is not touched: a fork of a process that uses CUDA
cannot use it.
"""

from __future__ import annotations

import importlib
import os

from tclab.bench.measured import private
from tclab.bench.task import IMPORTS

for _name in filter(None, os.environ.get(IMPORTS, "").split(",")):
    try:
        importlib.import_module(_name)
    except Exception:
        continue  # the worker that needs it says so in its row

private.import_first()
