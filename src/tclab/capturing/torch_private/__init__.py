"""List the private names of PyTorch and Triton that tclab uses, in one table for each module, and
check all of them.
"""
