"""Give the traces of a job short names: what PyTorch puts around its random letters is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tclab.jobs.process import ReadProcess

# dedicated_log_torch_trace_rank_0_4n2ziqx2.log.gz
_FILE = re.compile(r"dedicated_log_torch_trace_(?P<own>\w+)\.log(?:\.gz)?")


def shorten_names(processes: Sequence[ReadProcess]) -> list[ReadProcess]:
    """Return the processes; a trace has the name of its folder if it is alone in it, else its own
    letters. Names that would be equal stay as they are.
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
