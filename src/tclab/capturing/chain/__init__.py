"""Stages linked line to line, from Python down to instructions."""
