"""Time compiled functions and models on a machine, and keep one row for each measurement: `tclab
bench`.

A *case* is one function or model at one size; a *mode* is one way to run it. Each pair is
prepared in a process of its own (`pool`), many at a time; then the processes of a case take turns
on the idle machine (`batch`), and each pair becomes one row (`rows`). `measured/` runs in those
processes, and `tclab.workshop.catalog` has the functions and models: only these import torch.

The folder `benchmarks/` times tclab itself, such as how long its site takes to build.
"""
