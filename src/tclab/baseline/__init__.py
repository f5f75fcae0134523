"""Compiles held to what they were: a file of each, and what is worse than it.

The pytest plugin (`torch_compile_lab_pytest`) and `tclab check` are its two users. Importing this
imports no PyTorch.
"""
