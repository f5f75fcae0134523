"""Reports of `tclab explain`: sentences, tables and the HTML page."""
