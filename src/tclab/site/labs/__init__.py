"""Make labs: one source for each, from which come a page, an exercise and a checker. No torch."""
