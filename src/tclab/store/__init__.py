"""What was run and is kept: runs of this machine, recordings of others, and the keys of both."""
