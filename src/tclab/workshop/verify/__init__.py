"""Compile the catalogue's examples for a target and on the real GPU, and compare the kernels."""
