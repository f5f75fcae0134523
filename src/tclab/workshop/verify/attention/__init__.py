"""Compare the rules of attention with PyTorch's own choice, on a GPU or in PyTorch's library."""
