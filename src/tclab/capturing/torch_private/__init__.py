"""List the private names of PyTorch and Triton that tclab uses, a table per module; check them
all.
"""
