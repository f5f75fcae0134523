"""Compile the graphs of a job again from its trace, and say whether the kernels are the job's."""
