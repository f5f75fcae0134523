"""A report of `tclab explain`: its words, its tables, its page."""
