"""The rules of attention against PyTorch's own choice, on a GPU or in its compiled library."""
