"""Read a page's Markdown: its fences, snippets, bound sentences and source references."""
