"""Open a job: read the traces and profiles of a finished run as values. The reading needs neither
PyTorch nor the machine of the job, and it executes nothing of what the traces contain.
"""

from __future__ import annotations

from tclab.jobs.job import open_job

__all__ = ["open_job"]
