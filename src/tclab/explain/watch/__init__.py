"""Explain again whenever a file is saved. Importing this package imports no PyTorch."""
