"""Begin a process that compiles what a foreign trace has."""

from __future__ import annotations

import os
import resource
from typing import TextIO


def limit_and_open_answers(memory: int, file: int) -> TextIO:
    """Limit the bytes of memory of this process, and of each file that it writes; a lower limit of
    the system stays. Return the stream of its answers. What other code prints goes to stderr.
    """
    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_FSIZE, file)):
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
