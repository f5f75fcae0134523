"""Open a job: read the traces and profiles that a real run left behind as values. Needs neither
PyTorch nor the machine of the job, and executes nothing of what it reads.
"""

from __future__ import annotations

from tclab.jobs.job import open_job

__all__ = ["open_job"]
