"""Answer the choices that a GPU makes by timing: as measured, as assumed, or both ways."""
