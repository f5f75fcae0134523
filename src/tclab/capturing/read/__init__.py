"""One reader a stage: from what PyTorch printed to artifacts of the model."""
