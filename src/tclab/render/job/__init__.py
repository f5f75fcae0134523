"""Render a job that `tclab open` opened: its page, its words and its tables."""
