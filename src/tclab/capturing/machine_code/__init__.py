"""What Triton and the C++ compiler make of a kernel, down to instructions."""
