"""Choices that the GPU would make by timing: measured, assumed, or compiled with both answers."""
