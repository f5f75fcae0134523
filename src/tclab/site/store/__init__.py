"""Stored runs: those of this machine, recordings of others, and the digests that date them."""
