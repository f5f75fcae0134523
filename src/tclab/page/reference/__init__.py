"""The pages that are made of what is installed: entries by name, and where the book shows them."""
