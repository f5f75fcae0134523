"""Build one page of the site alone: run its stale snippets, render it, check it."""
