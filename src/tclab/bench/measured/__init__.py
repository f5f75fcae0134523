"""The worker's side: everything here runs in a process of its own and imports torch."""
