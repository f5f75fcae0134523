"""The capstone: a reader's own model, judged by the questions of all labs, on one page."""
