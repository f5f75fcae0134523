"""Give the traces of a job short names: a file name that PyTorch chose is reduced to its rank and
its random letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tclab.jobs.process import ReadProcess

# dedicated_log_torch_trace_rank_0_4n2ziqx2.log.gz
_FILE = re.compile(r"dedicated_log_torch_trace_(?P<own>\w+)\.log(?:\.gz)?")


def shorten_names(processes: Sequence[ReadProcess]) -> list[ReadProcess]:
    """Return the processes with short names. A trace gets the name of its folder if no other trace
    is in this folder, else its rank and random letters. Names that would become equal stay as they
    are.
    """
    names = [each.process.name for each in processes]
    folders = Counter(name.rpartition("/")[0] for name in names)
    short = [_shorten(name, folders) for name in names]
    seen = Counter(short)
    return [
        replace(each, process=replace(each.process, name=new)) if seen[new] == 1 else each
        for each, new in zip(processes, short)
    ]


def _shorten(name: str, folders: Counter[str]) -> str:
    folder, _, file = name.rpartition("/")
    match = _FILE.fullmatch(file)
    if match is None:
        return name
    alone = folder and folders[folder] == 1
    return folder if alone else "/".join(filter(None, [folder, match["own"]]))
