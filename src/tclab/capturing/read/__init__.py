"""Read PyTorch's output into artifacts of the model, with one module for each stage."""
