"""One reader for each stage: it turns PyTorch's output into artifacts of the model."""
