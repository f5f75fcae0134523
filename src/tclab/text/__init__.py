"""Clean text about code (paths, secrets), and find the user's lines in it."""
