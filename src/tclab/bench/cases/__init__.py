"""The functions and models that are measured; each module imports what it needs."""
