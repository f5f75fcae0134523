"""``tclab explain``: the command, what it prints while it works and when it has ended."""

from tclab.cli.explaining.command import explain

__all__ = ["explain"]
