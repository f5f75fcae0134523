"""Render the reports of `tclab explain`: sentences, tables and the HTML page."""
