"""What each PyTorch makes of the same code: claims and compiles, recorded version by version."""
