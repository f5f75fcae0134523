"""A page's Markdown: its fences, which snippets it uses, its bound sentences, its references."""
