"""Claims and compiles of the same code under each PyTorch version, recorded and compared."""
