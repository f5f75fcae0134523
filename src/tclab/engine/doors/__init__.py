"""Doors to other machines. A job goes out as bytes, and the folder of its run comes back as bytes.

`protocol` says what both are, `tree` what of the project travels, once. `agent` runs jobs on the
other side, in the environment that was asked for, and `box` keeps agents. `dask` and `bundle` are
the doors; `planner` gives the jobs to the workers that fit.
"""
