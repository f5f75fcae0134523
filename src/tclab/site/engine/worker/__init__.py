"""Run snippets in processes: supervisor, keeper, the snippet's own process, and their limits."""
