"""Targets against the device: a corpus of functions, compiled on both sides and compared."""
