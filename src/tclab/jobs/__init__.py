"""Open a job: read the traces and profiles of a finished run as values. Needs neither PyTorch nor
the machine of the job, and executes nothing of what it reads.
"""

from __future__ import annotations

from tclab.jobs.job import open_job

__all__ = ["open_job"]
