"""Run snippets on other machines: send jobs as bytes, get the folders of their runs as bytes.

`protocol` defines both formats; `tree` collects the project's files, which are sent once. On the
other machine `agent` runs jobs in the requested environment, and `worker_host` starts agents. Jobs
travel through `cluster` (Dask) or `bundle` (files); `planner` assigns jobs to suitable workers.
"""
