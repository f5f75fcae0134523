"""Define ``tclab explain``: the command, its progress display and its summary."""
