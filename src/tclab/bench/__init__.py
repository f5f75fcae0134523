"""What `tclab bench` does: time a machine's compiled functions and models, and keep the rows.

tclab's own figures, such as how long its site takes to build, are in the folder `benchmarks/`.


A *case* is one function or model at one size; a *mode* is one way to run it. Each pair is
prepared in a process of its own (`pool`), many at a time; then the processes of a case take turns
on the idle machine (`batch`), and each pair becomes one row (`rows`). `measured/` is the worker's
side, and what is measured comes from `tclab.catalog`: only these import torch.
"""
