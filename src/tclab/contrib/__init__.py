"""Programs of other projects that call tclab, each one file that needs nothing beside it."""
