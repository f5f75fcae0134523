"""A compile for a GPU that is not there: what stands in for it, and what is refused."""
