"""The labs: one source each, from which come a page, an exercise and a checker. No torch."""
