"""Answer the choices that a GPU makes by timing, with measured, assumed, likely or both answers."""
