"""Compile kernels with Triton and the C++ compiler, and read their code down to instructions."""
