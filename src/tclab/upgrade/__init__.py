"""Compare a function's compiles under two versions of PyTorch: where they differ, and why."""
