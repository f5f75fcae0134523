"""Link the stages of a compile line to line, from Python down to instructions."""
