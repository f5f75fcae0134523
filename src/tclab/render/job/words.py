"""Write the sentences on the first screen of a job."""

from __future__ import annotations

from tclab.model import DeviceProfile, Job, format_seconds
from tclab.render.parts import count

NOTHING_FOUND = "Nothing to act on was found."


def title(job: Job) -> str:
    """Return the heading of the page."""
    return f"The job {job.title}"


def summary(job: Job) -> str:
    """Return a sentence with the numbers of processes, compiles, breaks and kernels, and the
    seconds.
    """
    pieces = []
    if job.processes:
        compiles = sum(len(each.compiles) for each in job.processes)
        seconds = max(each.seconds for each in job.processes)
        a_process = " in the longest process" if len(job.processes) > 1 else ""
        versions = sorted({each.torch for each in job.processes if each.torch})
        of_torch = f" of PyTorch {', '.join(versions)}" if versions else ""
        pieces.append(count(len(job.processes), "process", "processes") + of_torch)
        pieces.append(f"{count(compiles, 'compile')}, {format_seconds(seconds)}{a_process}")
        pieces.append(count(sum(len(each.breaks) for each in job.processes), "graph break"))
        pieces.append(
            count(sum(len(each.recompiles.recompiles) for each in job.processes), "recompile")
        )
    pieces += map(_describe_profile, job.profiles)
    return "; ".join(pieces) + "."


def _describe_profile(profile: DeviceProfile) -> str:
    if not profile.kernels:
        return f"{profile.name}: nothing that a GPU ran"
    kernels = count(sum(kernel.times for kernel in profile.kernels), "kernel")
    return f"{profile.name}: {kernels} in {format_seconds(profile.seconds)} of the GPU"
