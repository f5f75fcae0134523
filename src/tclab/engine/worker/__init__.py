"""What runs on the other side of a pipe: the supervisor, a snippet's process, its limits."""
