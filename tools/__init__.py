"""What is made for the repository itself, not for the site."""
