"""Build only one page of the site: run the page's stale snippets, render the page, and check it."""
