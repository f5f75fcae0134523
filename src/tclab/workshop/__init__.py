"""Provide tools that need a clone of the project: catalogue, benchmarks, comparisons with a GPU."""
