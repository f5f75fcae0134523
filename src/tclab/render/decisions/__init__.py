"""What was decided one by one: a module a kind, as in `tclab.render.kinds`."""
