"""Give the processes of every run the same limits and host name, and name the limits of this
machine that do not permit it.
"""

from __future__ import annotations

import os
import platform
import socket

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: The limits of every run's process by their names in `resource`, in the unit that `resource` has;
#: None means no limit. The number of a user's processes is none of them, because it counts those of
#: other programs, too.
_RUN_LIMITS = {
    **dict.fromkeys(("AS", "CPU", "DATA", "FSIZE")),
    "CORE": 0,
    "NOFILE": 4096,
    "STACK": 8 * 2**20,
}

#: Part of an error's message → the limit of a process that causes it, and the option of `ulimit`.
_CAUSES = {
    "MemoryError": ("AS", "-v"),
    "allocate memory": ("AS", "-v"),
    "Too many open files": ("NOFILE", "-n"),
    "File too large": ("FSIZE", "-f"),
    "can't start new thread": ("NPROC", "-u"),
}


def set_run_limits() -> None:
    """Give this process, and those that it starts, the limits of a run, whatever the shell has
    chosen. The system permits no more than its hard limits, which `lower_limits` names.
    """
    lower = lower_limits()
    for name, wanted in _RUN_LIMITS.items() if resource else ():
        kind = getattr(resource, f"RLIMIT_{name}")
        soft = lower.get(name, resource.RLIM_INFINITY if wanted is None else wanted)
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))


def describe_system() -> str:
    """Return the system, the kind of processor, and the limits that no run of this process can
    exceed.
    """
    limits = (f"RLIMIT_{name} {limit}" for name, limit in lower_limits().items())
    return " ".join((platform.system(), platform.machine(), *limits))


def lower_limits() -> dict[str, int]:
    """Return the hard limits of this process that are below the limits of a run, by their names."""
    return {
        name: limit
        for name, wanted in _RUN_LIMITS.items()
        if (limit := _limit(name, hard=True)) is not None and (wanted is None or limit < wanted)
    }


def _limit(name: str, *, hard: bool = False) -> int | None:
    """Return a limit of this process, such as AS in bytes; None if there is none."""
    if not resource:
        return None
    limit = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[hard]
    return None if limit == resource.RLIM_INFINITY else limit


def next_step_for_limit(message: str) -> str:
    """Return the next step after an error that a limit of this process caused, such as one that its
    shell has set; '' if it has none.
    """
    for part, (name, option) in _CAUSES.items():
        if part in message and (limit := _limit(name)) is not None:
            limited = f"its processes may have more than {limit:,} (RLIMIT_{name})"
            return f"run it where {limited}: ulimit {option}"
    return ""


def hide_host_name() -> None:
    """Let this process name its machine ``localhost``. So no run depends on a name that its key
    cannot hold, because each container has another.
    """
    real = os.uname()
    named = os.uname_result((real.sysname, "localhost", *real[2:]))
    os.uname = lambda: named
    socket.gethostname = lambda: "localhost"
