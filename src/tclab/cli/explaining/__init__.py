"""``tclab explain``: the command, what it prints while it works and when it has ended."""
