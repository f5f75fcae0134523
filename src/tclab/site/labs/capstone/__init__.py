"""Judge a reader's own model by the questions of all labs, on one page: the capstone."""
