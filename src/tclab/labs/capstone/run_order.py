"""How the last line of a reader's file begins that says what to look at; no torch."""

ORDER = "# tclab-capstone: "
