"""Build one page of the site alone: run the page's stale snippets, render it, check it."""
