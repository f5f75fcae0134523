"""The command ``tclab``: `command` is its front, beside it a module for each thing it can do."""
