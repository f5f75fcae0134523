"""The same function under two PyTorches: where the compiles part, and why."""
