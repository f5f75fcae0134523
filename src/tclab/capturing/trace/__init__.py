"""What is collected while a compile runs: plain data. Never imports torch."""
