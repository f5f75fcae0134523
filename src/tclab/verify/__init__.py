"""Targets against the device: the examples of `tclab.catalog`, compiled on both and compared."""
