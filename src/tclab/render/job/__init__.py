"""The page, the words and the tables of a job that `tclab open` opened."""
