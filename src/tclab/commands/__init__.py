"""Commands of ``tclab`` that have a module of their own."""
