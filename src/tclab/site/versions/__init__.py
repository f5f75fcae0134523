"""Record and compare claims and compiles of the same code under each PyTorch version."""
