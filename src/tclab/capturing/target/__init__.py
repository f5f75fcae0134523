"""Compile for a GPU that is not there; refuse code that only the GPU itself can decide."""
