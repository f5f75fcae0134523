"""The private names of PyTorch and Triton that tclab uses: a table a module, a check for all."""
