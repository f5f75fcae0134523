"""Every private name of PyTorch and Triton, a table a module, and one check over all."""
