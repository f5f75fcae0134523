"""The processes that run snippets: supervisor, keeper, the snippet's own, and their limits."""
