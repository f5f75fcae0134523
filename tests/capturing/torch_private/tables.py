"""The tables of private names: every module of torch_private that has one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from tclab.capturing import torch_private
from tclab.capturing.torch_private.private import Private


def _tables() -> Iterator[tuple[str, tuple[Private, ...]]]:
    for module in pkgutil.iter_modules(torch_private.__path__, torch_private.__name__ + "."):
        names = getattr(importlib.import_module(module.name), "NAMES", None)
        if names:
            yield module.name, names


#: Module -> the names it lists.
TABLES = dict(_tables())
