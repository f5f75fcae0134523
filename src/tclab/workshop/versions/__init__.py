"""Record the compiles of the catalogue and the claims of the snippets under one PyTorch."""
