"""What is heard and noted while a compile runs: plain data. Never imports torch."""
