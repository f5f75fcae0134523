"""Benchmarks: what `tclab bench` measures, how, and the rows that it keeps.

A *case* is one function or model at one size; a *mode* is one way to run it. Each pair is
prepared in a process of its own (`worker`), many at a time; then the processes of a case take
turns on the idle machine (`wave`), and each pair becomes one row (`rows`). `measured/` is the
worker's side and `cases/` are the functions and models: only these import torch.
"""
